#include "import/rows/quotient.h"

#include <algorithm>
#include <iterator>

namespace dynaflow::rows {
namespace {

using Term = Extent::Term;

/// The term of the highest degree, ties by symbol: an order that products preserve.
Term leading(const Extent& extent) {
  Term lead{.coefficient = extent.constant(), .factors = {}};
  for (const Term& term : extent.terms()) {
    const bool higher = term.factors.size() > lead.factors.size();
    const bool earlier = term.factors.size() == lead.factors.size() && term.factors < lead.factors;
    if (higher || earlier) lead = term;
  }
  return lead;
}

Extent to_extent(const Term& term) {
  Extent extent = term.coefficient;
  for (const SymbolId factor : term.factors) extent *= Extent(factor);
  return extent;
}

std::optional<Extent> term_quotient(const Term& dividend, const Term& divisor) {
  if (divisor.coefficient == 0 || dividend.coefficient % divisor.coefficient != 0) return {};
  if (!std::ranges::includes(dividend.factors, divisor.factors)) return {};
  Term result{.coefficient = dividend.coefficient / divisor.coefficient, .factors = {}};
  std::ranges::set_difference(dividend.factors, divisor.factors,
                              std::back_inserter(result.factors));
  return to_extent(result);
}

}  // namespace

std::optional<Extent> quotient(const Extent& dividend, const Extent& divisor) {
  const Term lead = leading(divisor);
  Extent rest = dividend;
  Extent result = 0;
  while (rest != Extent(0)) {
    const auto part = term_quotient(leading(rest), lead);
    if (!part) return {};
    result += *part;
    rest += Extent(-1) * *part * divisor;
  }
  return lead.coefficient == 0 ? std::nullopt : std::optional(result);
}

}  // namespace dynaflow::rows

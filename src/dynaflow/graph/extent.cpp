#include "dynaflow/graph/extent.h"

#include <algorithm>
#include <utility>

namespace dynaflow {
namespace {

/// Coefficients stop at the ends of their range instead of wrapping: such sizes are refused later.
std::int64_t stop_at_ends(bool negative) {
  return negative ? std::numeric_limits<std::int64_t>::min()
                  : std::numeric_limits<std::int64_t>::max();
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? stop_at_ends(a < 0) : sum;
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? stop_at_ends((a < 0) != (b < 0)) : product;
}

std::string name_of(SymbolId symbol, std::span<const std::string> names) {
  if (symbol.index < names.size()) return names[symbol.index];
  return "s" + std::to_string(symbol.index);
}

}  // namespace

Extent::Extent(SymbolId symbol) { terms_.push_back({1, {symbol}}); }

bool Extent::uses_only(std::size_t count) const {
  return std::ranges::all_of(terms_, [&](const Term& term) {
    return std::ranges::all_of(term.factors, [&](SymbolId id) { return id.index < count; });
  });
}

std::int64_t Extent::evaluate(std::span<const std::int64_t> symbols) const {
  std::int64_t sum = constant_;
  for (const Term& term : terms_) {
    std::int64_t product = term.coefficient;
    for (const SymbolId factor : term.factors) {
      if (__builtin_mul_overflow(product, symbols[factor.index], &product)) return kTooLarge;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return kTooLarge;
  }
  return sum;
}

void Extent::add(const Term& term) {
  if (term.coefficient == 0) return;
  const auto at = std::ranges::lower_bound(terms_, term.factors, {}, &Term::factors);
  if (at == terms_.end() || at->factors != term.factors) {
    terms_.insert(at, term);
    return;
  }
  at->coefficient = plus(at->coefficient, term.coefficient);
  if (at->coefficient == 0) terms_.erase(at);
}

std::optional<Extent> Extent::divided_by(SymbolId symbol) const {
  if (constant_ != 0) return std::nullopt;
  Extent quotient;
  for (Term term : terms_) {
    const auto at = std::ranges::find(term.factors, symbol);
    if (at == term.factors.end()) return std::nullopt;
    term.factors.erase(at);
    if (term.factors.empty()) {
      quotient.constant_ = term.coefficient;
    } else {
      quotient.add(term);
    }
  }
  return quotient;
}

Extent& Extent::operator+=(const Extent& other) {
  constant_ = plus(constant_, other.constant_);
  const std::vector<Term> terms = other.terms_;  // `other` may be this very extent
  for (const Term& term : terms) add(term);
  return *this;
}

Extent& Extent::operator*=(const Extent& other) {
  Extent product(times(constant_, other.constant_));
  for (const Term& term : terms_) {
    product.add({times(term.coefficient, other.constant_), term.factors});
    for (const Term& theirs : other.terms_) {
      Term both{times(term.coefficient, theirs.coefficient), term.factors};
      both.factors.insert(both.factors.end(), theirs.factors.begin(), theirs.factors.end());
      std::ranges::sort(both.factors);
      product.add(both);
    }
  }
  for (const Term& theirs : other.terms_) {
    product.add({times(constant_, theirs.coefficient), theirs.factors});
  }
  return *this = std::move(product);
}

std::string to_string(const Extent& extent, std::span<const std::string> names) {
  std::string text;
  const auto append = [&](std::int64_t number, const std::string& rest) {
    if (number >= 0 && !text.empty()) text += '+';
    if (number == -1 && !rest.empty()) text += '-';
    if (rest.empty() || (number != 1 && number != -1)) text += std::to_string(number);
    if (!rest.empty() && number != 1 && number != -1) text += '*';
    text += rest;
  };
  for (const Extent::Term& term : extent.terms_) {
    std::string product;
    for (const SymbolId factor : term.factors) {
      product += (product.empty() ? "" : "*") + name_of(factor, names);
    }
    append(term.coefficient, product);
  }
  if (extent.constant_ != 0 || text.empty()) append(extent.constant_, "");
  return text;
}

}  // namespace dynaflow

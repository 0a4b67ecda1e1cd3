#include <algorithm>
#include <array>
#include <set>

#include "import/rows/families.h"
#include "import/rows/indexed.h"
#include "import/rows/numbers.h"
#include "import/rows/quotient.h"

// A mixture of experts sorts its tokens by expert, works on them in that order and puts them back:
//   keys, order = sort(expert_of_token)          x_g = x[order // k]
//   offsets = cumsum(histc(keys))                y_g = grouped_mm(x_g, weights, offsets)
//   inverse[order] = arange(n)                   y = y_g[inverse]
// Each micro-batch may sort its own tokens, as long as everything between is understood here.
namespace dynaflow::rows {

using capture::TensorId;
using Role = State::Role;

namespace {

State of_sort(std::uint32_t sort, Role role, const Place& place) {
  State state = split(place);
  state.sort = sort;
  state.role = role;
  return state;
}

/// A tensor without rows that is right only together with the micro-batch's own order.
State beside_sort(std::uint32_t sort, Role role) {
  State state = whole();
  state.sort = sort;
  state.role = role;
  return state;
}

Outcome refuse(const Site& site) {
  Outcome outcome = merged(site, "rows in the order of a sort are used in an unknown way");
  for (const TensorId input : site.inputs()) {
    if (site.state(input).is_local()) outcome.refused_sorts.push_back(site.state(input).sort);
  }
  return outcome;
}

bool has_role(const Site& site, std::optional<TensorId> tensor, Role role) {
  return tensor && site.state(*tensor).is_local() && site.state(*tensor).role == role;
}

/// Rows in the order of `sort`, along dimension `dim`.
bool is_in_order(const Site& site, TensorId tensor, std::uint32_t sort, std::int32_t dim) {
  const State& state = site.state(tensor);
  const bool rows = state.role == Role::kData || state.role == Role::kSortedKeys;
  return rows && state.is_split() && state.sort == sort && state.carry.dim == dim;
}

/// `tensor[order // c]` gives row r only to places that came from row r.
bool order_names_rows_of(const Site& site, TensorId order, TensorId tensor, std::int32_t dim) {
  const State& rows = site.state(tensor);
  return rows.is_split() && !rows.is_local() && rows.place() == Place{dim, 1} &&
         site.inner(tensor) == site.state(order).step;
}

std::optional<Outcome> index_in_order(const Site& site, const Indexed& indexed) {
  if (indexed.tensors.size() != 1) return {};
  const TensorId by = indexed.tensors.front();
  const std::int32_t dim = indexed.dims.front();
  const std::uint32_t sort = site.state(by).sort;
  if (has_role(site, by, Role::kOrder)) {
    if (!order_names_rows_of(site, by, indexed.source, dim)) return refuse(site);
    return row_wise(site, of_sort(sort, Role::kData, {dim, 1}));
  }
  if (!has_role(site, by, Role::kInverse)) return {};
  if (!is_in_order(site, indexed.source, sort, dim)) return refuse(site);
  return row_wise(site, Place{dim, 1});
}

/// inverse[order] = 0, 1, 2, …: every place is written once, so what was there does not matter.
Outcome invert(const Site& site, TensorId target, TensorId order, TensorId values) {
  const State& positions = site.state(values);
  const bool counts =
      positions.role == Role::kRowNumbers && positions.numbers == State::Numbers::kPositions;
  const bool covers = site.sizes(target) == site.sizes(order) &&
                      site.sizes(values) == site.sizes(order) && site.rank(order) == 1;
  const bool undivided =
      quotient(site.size(order, 0), site.batch()) == std::optional(site.state(order).step);
  if (!counts || !covers || !undivided || site.state(target).is_local()) return refuse(site);
  Outcome outcome = row_wise(site, of_sort(site.state(order).sort, Role::kInverse, {0, 1}));
  outcome.counted = {values};
  return outcome;
}

/// target[order // c] += rows in order: each row adds to itself.
Outcome add_back(const Site& site, const Indexed& indexed, TensorId values) {
  const TensorId order = indexed.tensors.front();
  const std::int32_t dim = indexed.dims.front();
  if (!order_names_rows_of(site, order, indexed.source, dim) ||
      !is_in_order(site, values, site.state(order).sort, dim)) {
    return refuse(site);
  }
  return row_wise(site, Place{dim, 1});
}

Outcome put_in_order(const Site& site) {
  const auto indexed = indexed_by_list(site);
  const auto values = site.tensor_at(2);
  if (!indexed || !values || indexed->tensors.size() != 1 ||
      !has_role(site, indexed->tensors.front(), Role::kOrder)) {
    return refuse(site);
  }
  if (site.argument(3).boolean().value_or(false)) return add_back(site, *indexed, *values);
  return invert(site, indexed->source, indexed->tensors.front(), *values);
}

Outcome add_in_order(const Site& site) {
  const auto indexed = indexed_by_dim(site);
  const auto values = site.tensor_at(3);
  if (!indexed || !values || !has_role(site, indexed->tensors.front(), Role::kOrder)) {
    return refuse(site);
  }
  return add_back(site, *indexed, *values);
}

Outcome scatter_in_order(const Site& site) {
  const auto order = site.tensor_at(2);
  const auto values = site.tensor_at(3);
  if (!has_role(site, order, Role::kOrder) || !values) return refuse(site);
  return invert(site, *site.tensor_at(0), *order, *values);
}

bool is_number(const capture::Argument& argument, double number) {
  if (const auto* real = std::get_if<double>(&argument.value)) return *real == number;
  const auto integer = argument.integer();
  return integer && static_cast<double>(*integer) == number;
}

/// histc(keys, n, 0, n-1) counts the keys 0, 1, …, n-1.
Outcome count_keys(const Site& site) {
  const TensorId keys = site.inputs().front();
  const auto bins = site.argument(1).integer();
  const bool one_per_key = bins && is_number(site.argument(2), 0) &&
                           is_number(site.argument(3), static_cast<double>(*bins - 1));
  if (!has_role(site, keys, Role::kSortedKeys) || !one_per_key) return refuse(site);
  return row_wise(site, beside_sort(site.state(keys).sort, Role::kCounts));
}

Outcome multiply_groups(const Site& site) {
  const std::vector<TensorId> inputs = site.inputs();
  if (inputs.size() != 3 || !has_role(site, inputs[2], Role::kOffsets)) return refuse(site);
  const std::uint32_t sort = site.state(inputs[2]).sort;
  const bool weights = site.state(inputs[1]).is_whole() && site.rank(inputs[1]) == 3;
  if (!weights || !is_in_order(site, inputs[0], sort, 0)) return refuse(site);
  return row_wise(site, of_sort(sort, Role::kData, {0, 1}));
}

/// Sorting an order inverts it.
Outcome sort_order(const Site& site) {
  const State& order = site.state(site.inputs().front());
  Outcome outcome = row_wise(site, beside_sort(order.sort, Role::kOpaque));
  outcome.outputs.back() = of_sort(order.sort, Role::kInverse, {0, 1});
  return outcome;
}

Outcome accumulate_counts(const Site& site) {
  return row_wise(site, beside_sort(site.state(site.inputs().front()).sort, Role::kOffsets));
}

/// Any family, on rows that are all in the order of one sort, along a dimension that stays as it
/// is.
Outcome keep_order(const Site& site, Family family) {
  std::uint32_t sort = State::kNoSort;
  std::optional<Extent> size;
  for (const TensorId input : site.inputs()) {
    const State& state = site.state(input);
    if (state.is_whole()) continue;
    const bool same = sort == State::kNoSort || sort == state.sort;
    if (!same || !is_in_order(site, input, state.sort, state.carry.dim)) return refuse(site);
    sort = state.sort;
    size = site.size(input, state.carry.dim);
  }
  Outcome outcome = family(site);
  if (outcome.runs != CallRows::Runs::kRowWise || !outcome.counted.empty()) return refuse(site);
  if (outcome.sizes == Outcome::Sizes::kFixed && site.reads_batch_size()) return refuse(site);
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    State& state = outcome.outputs[i];
    const TensorId output = site.call().outputs[i];
    if (!state.is_split() || state.carry.outer != Extent(1)) return refuse(site);
    if (!site.fits(output, state.place()) || site.size(output, state.carry.dim) != size) {
      return refuse(site);
    }
    state.sort = sort;
  }
  return outcome;
}

/// Places are whole numbers, which a float need not hold.
Outcome copy_order(const Site& site, const State& state) {
  const DType dtype = site.dtype(site.output());
  const bool places = state.role == Role::kOrder || state.role == Role::kInverse;
  if (places && dtype != DType::kI64 && dtype != DType::kI32) return refuse(site);
  return row_wise(site, state);
}

bool op_is(const Site& site, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, site.call().op) != names.end();
}

}  // namespace

bool touches_order(const Site& site) {
  const std::vector<TensorId> inputs = site.inputs();
  return std::ranges::any_of(inputs, [&](TensorId t) { return site.state(t).is_local(); });
}

Outcome in_order(const Site& site, Family family) {
  const TensorId first = site.inputs().front();
  const State& state = site.state(first);
  if (family == nullptr) return refuse(site);
  if (copies(site)) return copy_order(site, state);
  if (family == constant_like) {
    Outcome outcome = constant_like(site);
    return outcome.runs == CallRows::Runs::kRowWise ? outcome : refuse(site);
  }
  if (has_role(site, first, Role::kOrder)) {
    if (const auto step = divided_step(site)) {
      Outcome outcome = row_wise(site, state);
      outcome.outputs.front().step = *step;
      return outcome;
    }
    if (op_is(site, {"aten::sort", "aten::argsort"}) && site.rank(first) == 1) {
      return sort_order(site);
    }
  }
  if (has_role(site, first, Role::kCounts) && op_is(site, {"aten::cumsum"})) {
    return accumulate_counts(site);
  }
  if (op_is(site, {"aten::histc"})) return count_keys(site);
  if (op_is(site, {"aten::_grouped_mm", "transformers::grouped_mm_fallback"})) {
    return multiply_groups(site);
  }
  if (family == index_put) return put_in_order(site);
  if (op_is(site, {"aten::index_add"})) return add_in_order(site);
  if (op_is(site, {"aten::scatter"})) return scatter_in_order(site);
  if (family == index || family == index_select) {
    const auto indexed = family == index ? indexed_by_list(site) : indexed_by_dim(site);
    const auto outcome = indexed ? index_in_order(site, *indexed) : std::nullopt;
    if (outcome) return *outcome;
  }
  return keep_order(site, family);
}

bool sorts_rows(const Site& site) {
  const std::vector<TensorId> inputs = site.inputs();
  if (!op_is(site, {"aten::sort", "aten::argsort"}) || inputs.size() != 1) return false;
  const State& state = site.state(inputs.front());
  return state.is_split() && !state.is_local() && site.rank(inputs.front()) == 1 &&
         state.carry.outer == Extent(1);
}

Outcome sort_rows(const Site& site) {
  const TensorId input = site.inputs().front();
  const bool stable = site.call().overload == "stable";
  const bool descending = site.argument(stable ? 3 : 2).boolean().value_or(false);
  const DType dtype = site.dtype(input);
  const bool whole_numbers = dtype == DType::kI64 || dtype == DType::kI32;
  const Role keys = whole_numbers && !descending ? Role::kSortedKeys : Role::kData;
  Outcome outcome = row_wise(site, of_sort(site.number(), keys, {0, 1}));
  outcome.outputs.back() = of_sort(site.number(), Role::kOrder, {0, 1});
  outcome.outputs.back().step = site.inner(input);
  return outcome;
}

}  // namespace dynaflow::rows

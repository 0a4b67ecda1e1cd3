#include "import/rows/site.h"

#include <algorithm>
#include <numeric>

#include "dynaflow/base/check.h"
#include "import/rows/quotient.h"

namespace dynaflow::rows {

using capture::Argument;
using capture::TensorId;

const Argument& Site::argument(int index) const {
  static const Argument kNone;
  const auto at = static_cast<std::size_t>(index);
  return index >= 0 && at < call_.arguments.size() ? call_.arguments[at] : kNone;
}

std::optional<TensorId> Site::tensor_at(int index) const { return argument(index).tensor(); }

std::vector<TensorId> Site::inputs() const {
  std::vector<TensorId> tensors;
  capture::for_each_input(call_, [&](TensorId tensor) { tensors.push_back(tensor); });
  return tensors;
}

TensorId Site::output() const {
  DYNAFLOW_CHECK(has_output());
  return *std::ranges::find_if(call_.outputs, &TensorId::valid);
}

bool Site::has_output() const { return std::ranges::any_of(call_.outputs, &TensorId::valid); }

Extent Site::inner(TensorId tensor) const {
  const Place place = state(tensor).place();
  return quotient(size(tensor, place.dim), place.outer * batch()).value_or(0);
}

bool Site::has_batch(TensorId tensor) const {
  return std::ranges::any_of(sizes(tensor), [&](const Extent& size) { return has_batch(size); });
}

bool Site::reads_batch_size() const {
  return std::ranges::any_of(call_.arguments,
                             [&](const Argument& item) { return reads_batch_size(item); });
}

bool Site::reads_batch_size(const Argument& argument) const {
  if (const auto size = argument.size()) return has_batch(*size);
  return std::ranges::any_of(argument.list(),
                             [&](const Argument& item) { return reads_batch_size(item); });
}

bool Site::fits(TensorId tensor, const Place& place) const {
  if (place.dim < 0 || place.dim >= rank(tensor) || has_batch(place.outer)) return false;
  for (std::int32_t d = 0; d < rank(tensor); ++d) {
    if (d != place.dim && has_batch(size(tensor, d))) return false;
  }
  const auto inner = quotient(size(tensor, place.dim), place.outer * batch());
  return inner && !has_batch(*inner);
}

std::optional<Place> Site::natural_place(TensorId tensor) const {
  for (std::int32_t d = 0; d < rank(tensor); ++d) {
    if (fits(tensor, {d, 1})) return Place{d, 1};
  }
  return {};
}

std::vector<std::int32_t> Site::dims(int index, std::int32_t rank) const {
  const Argument& named = argument(index);
  std::vector<std::int32_t> dims;
  const auto add = [&](const Argument& item) {
    const auto d = static_cast<std::int32_t>(item.integer().value_or(0));
    dims.push_back(d < 0 ? d + rank : d);
  };
  if (named.integer()) add(named);
  for (const Argument& item : named.list()) add(item);
  if (dims.empty()) {
    dims.resize(static_cast<std::size_t>(rank));
    std::iota(dims.begin(), dims.end(), 0);
  }
  return dims;
}

std::optional<std::int32_t> Site::dim(int index, std::int32_t rank) const {
  const auto d = argument(index).integer();
  if (!d) return {};
  return static_cast<std::int32_t>(*d < 0 ? *d + rank : *d);
}

Outcome row_wise(const Site& site, const State& state) {
  return {.outputs = std::vector<State>(site.call().outputs.size(), state)};
}

Outcome row_wise(const Site& site, const Place& place) { return row_wise(site, split(place)); }

Outcome summed(const Site& site) { return row_wise(site, partial()); }

Outcome merged(const Site& site, std::string reason) {
  Outcome outcome{.runs = CallRows::Runs::kMerged, .reason = std::move(reason)};
  for (const TensorId output : site.call().outputs) {
    const bool rows = output.valid() && site.has_batch(output);
    outcome.outputs.push_back(rows ? coupled(site.name(output) + ", since " + outcome.reason)
                                   : whole());
  }
  return outcome;
}

Outcome merged_in_place(const Site& site, const Place& place, std::string reason) {
  Outcome outcome = row_wise(site, place);
  outcome.runs = CallRows::Runs::kMerged;
  outcome.reason = std::move(reason);
  return outcome;
}

bool joins(const Site& site, TensorId tensor, const std::vector<Extent>& sizes,
           const Place& place) {
  const std::int32_t d = place.dim + site.rank(tensor) - static_cast<std::int32_t>(sizes.size());
  const State& state = site.state(tensor);
  if (!state.is_split()) return d < 0 || site.size(tensor, d) == Extent(1);
  return state.place() == Place{d, place.outer} &&
         site.size(tensor, d) == sizes[static_cast<std::size_t>(place.dim)];
}

Alignment align(const Site& site, std::span<const TensorId> tensors,
                const std::vector<Extent>& sizes) {
  const auto rank = static_cast<std::int32_t>(sizes.size());
  const auto first =
      std::ranges::find_if(tensors, [&](TensorId tensor) { return site.state(tensor).is_split(); });
  if (first == tensors.end()) return {};
  Place place = site.state(*first).place();
  place.dim += rank - site.rank(*first);
  for (const TensorId tensor : tensors) {
    if (joins(site, tensor, sizes, place)) continue;
    return {.clash = site.name(tensor) + " does not hold the batch where " + site.name(*first) +
                     " does"};
  }
  return {.place = place};
}

}  // namespace dynaflow::rows

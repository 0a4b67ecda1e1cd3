#include "import/rows/families.h"

namespace dynaflow::rows {

using capture::TensorId;

Outcome attention(const Site& site) {
  const TensorId query = *site.tensor_at(0);
  const Place place = site.state(query).place();
  for (int i = 0; i < 3; ++i) {
    const State& state = site.state(*site.tensor_at(i));
    if (!state.is_split() || place.dim != 0 || state.place() != place) {
      return merged(site, "query, key and value do not share the batch in dimension 0");
    }
  }
  std::vector<TensorId> tensors = {query};
  const std::vector<TensorId> inputs = site.inputs();
  for (std::size_t i = 3; i < inputs.size(); ++i) tensors.push_back(inputs[i]);
  const Alignment aligned = align(site, tensors, site.sizes(query));
  if (!aligned.place) return merged(site, "the mask: " + aligned.clash);
  Outcome outcome = row_wise(site, place);
  for (std::size_t i = 1; i < outcome.outputs.size(); ++i) {
    const TensorId output = site.call().outputs[i];
    if (!output.valid() || !site.has_batch(output)) outcome.outputs[i] = whole();
  }
  return outcome;
}

}  // namespace dynaflow::rows

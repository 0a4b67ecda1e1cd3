#include "import/rows/families.h"

namespace dynaflow::rows {

using capture::TensorId;

Outcome pointwise(const Site& site) {
  const std::vector<TensorId> inputs = site.inputs();
  const Alignment aligned = align(site, inputs, site.sizes(site.output()));
  if (!aligned.place) return merged(site, aligned.clash);
  return row_wise(site, *aligned.place);
}

Outcome onto_first(const Site& site) {
  const TensorId first = site.inputs().front();
  if (!site.state(first).is_split()) return merged(site, "it writes rows to a whole tensor");
  const Alignment aligned = align(site, site.inputs(), site.sizes(first));
  if (!aligned.place) return merged(site, aligned.clash);
  return row_wise(site, *aligned.place);
}

Outcome check(const Site& site) {
  Outcome outcome = row_wise(site, whole());
  outcome.sizes = Outcome::Sizes::kFollowRows;
  return outcome;
}

}  // namespace dynaflow::rows

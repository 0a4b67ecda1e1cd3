#include "import/rows/families.h"
#include "import/rows/quotient.h"

namespace dynaflow::rows {

// Ranks exchange equal parts of dimension 0, so a batch in another dimension stays where it is.

Outcome all_gather(const Site& site) {
  Place place = site.state(site.inputs().front()).place();
  const auto ranks = site.argument(site.spots().count).integer();
  if (place.dim == 0) place.outer *= Extent(ranks.value_or(0));
  return row_wise(site, place);
}

Outcome reduce_scatter(const Site& site) {
  Place place = site.state(site.inputs().front()).place();
  if (place.dim != 0) return row_wise(site, place);
  const auto ranks = site.argument(site.spots().count).integer();
  const auto outer = quotient(place.outer, Extent(ranks.value_or(0)));
  if (!outer) return merged(site, "it hands out the batch's rows to ranks");
  return row_wise(site, Place{0, *outer});
}

Outcome all_to_all(const Site& site) {
  const Place place = site.state(site.inputs().front()).place();
  if (place.dim == 0) return merged(site, "it hands out the batch's rows to ranks");
  return row_wise(site, place);
}

}  // namespace dynaflow::rows

#pragma once

#include <string>

#include "import/cut/cut.h"

namespace dynaflow::cut {

/// What is wrong with a cut, found by code that shares nothing with its maker; empty if nothing.
/// Every call that is no view is in one region; regions are in an order in which they can run,
/// data, writes and random draws considered; what a region reads is there before it; what runs per
/// micro-batch may; the prologue is pure; what must stay inside a region does.
[[nodiscard]] std::string fault_of(const Cut& cut);

/// The name of the region that a tensor is made in; empty for inputs.
[[nodiscard]] std::string region_of(const Cut& cut, capture::TensorId tensor);

[[nodiscard]] const Region& region_named(const Cut& cut, const std::string& name);

[[nodiscard]] std::vector<std::string> region_names(const Cut& cut);

/// The Graph of a cut whose bodies do nothing.
[[nodiscard]] Result<CutGraph> graph_of(const Cut& cut);

}  // namespace dynaflow::cut

#pragma once

#include <vector>

#include "dynaflow/placement/placement.h"

namespace dynaflow {

/// Rules M1 and M2, checked again for every size. What does not depend on sizes is derived once per
/// plan, from the plan and from which operand is in which buffer; no code is shared with
/// make_buffers or make_placement.
///
/// First a quick proof: every operand is in the one buffer of its storage and micro-batch, every
/// view is where its rows belong, and buffers that meet in the arena, scratch among them, are apart
/// in time. Where that
/// fails, each byte is followed (find_hazards) and decides.
class PlacementVerifier {
 public:
  PlacementVerifier(const Graph& graph, const Plan& plan, const Buffers& buffers,
                    const HappensBefore& hb);

  [[nodiscard]] std::vector<Diagnostic> verify(const Placement& placement) const;

 private:
  void note_use(StepId step, BufferId buffer);
  [[nodiscard]] std::vector<Diagnostic> wrong_sizes(const Placement& placement) const;
  [[nodiscard]] bool has_one_buffer_each() const;
  [[nodiscard]] bool views_are_slices(const Placement& placement) const;
  [[nodiscard]] bool neighbours_are_apart(const Placement& placement) const;
  [[nodiscard]] bool apart(BufferId earlier, BufferId later) const;

  const Graph& graph_;
  const Plan& plan_;
  const Buffers& buffers_;
  const HappensBefore& hb_;
  bool one_buffer_each_ = false;
  std::vector<BufferId> by_first_use_;      ///< arena buffers
  std::vector<std::uint32_t> first_known_;  ///< per buffer and lane: known when any use starts
  std::vector<std::uint32_t> last_use_;     ///< per buffer and lane: steps until its last use
};

}  // namespace dynaflow

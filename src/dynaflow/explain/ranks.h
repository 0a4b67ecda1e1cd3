#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynaflow/base/result.h"
#include "dynaflow/explain/html.h"

namespace dynaflow {

/// One run as each of its ranks saw it. A transfer takes as long on a rank as others let it wait
/// and as the wire needs: these are told apart here.
struct RanksExplanation {
  struct Rank {
    std::string name;
    std::int64_t ahead_ns = 0;    ///< what its clock shows, less what the first rank's shows
    std::int64_t network_ns = 0;  ///< in transfers that all ranks take part in
    std::int64_t awaited_ns = 0;  ///< of that, until the last rank came
    std::int64_t late_ns = 0;     ///< how long only this one was missing
    std::size_t last = 0;         ///< to how many transfers it came last
  };

  /// One transfer, by the first rank's clock.
  struct Transfer {
    std::string label;
    std::size_t last = 0;         ///< the rank that came last
    std::int64_t awaited_ns = 0;  ///< from the first rank's coming to the last one's
    std::int64_t wire_ns = 0;     ///< from there to the end on the rank that is done last
  };

  std::vector<Rank> ranks;
  std::vector<Transfer> transfers;  ///< as the first rank ran them
};

/// Of timelines of one run, one for each rank. Their clocks need not agree: a transfer ends on all
/// ranks at about the same time, and begins on none after its end on another. T1 bad-timeline where
/// no transfer is in all of them.
[[nodiscard]] Result<RanksExplanation> explain_ranks(std::span<const NamedTimeline> runs);

/// A line per rank, and a sentence on what stands out.
[[nodiscard]] std::string to_string(const RanksExplanation& explanation);

}  // namespace dynaflow

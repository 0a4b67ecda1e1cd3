#pragma once

#include <string_view>

namespace dynaflow {

/// A rule that a refused input broke. Ids are stable; docs/rules.md explains each.
struct Rule {
  std::string_view id;
  std::string_view name;
};

// A capture: a model as its framework handed it over.
inline constexpr Rule kBadCapture{"C1", "bad-capture"};

// A graph: what an op may say about the values it touches.
inline constexpr Rule kUnknownOperand{"G1", "unknown-operand"};
inline constexpr Rule kReadBeforeWrite{"G2", "read-before-write"};
inline constexpr Rule kKindMismatch{"G3", "kind-mismatch"};
inline constexpr Rule kBadType{"G4", "bad-type"};
inline constexpr Rule kBadOutput{"G5", "bad-output"};
inline constexpr Rule kDuplicateName{"G6", "duplicate-name"};

// A schedule: what a strategy may record.
inline constexpr Rule kUnknownOp{"S1", "unknown-op"};
inline constexpr Rule kBatchNotCovered{"S2", "batch-not-covered"};
inline constexpr Rule kRunTwice{"S3", "run-twice"};
inline constexpr Rule kNeverRun{"S4", "never-run"};
inline constexpr Rule kNotReady{"S5", "not-ready"};
inline constexpr Rule kIllegalMerge{"S6", "illegal-merge"};
inline constexpr Rule kIllegalReplace{"S7", "illegal-replace"};
inline constexpr Rule kNoProgress{"S9", "no-progress"};
inline constexpr Rule kStaleHandle{"S10", "stale-handle"};
inline constexpr Rule kStrategyFailed{"S11", "strategy-failed"};

// A plan: steps on lanes.
inline constexpr Rule kMissingWait{"P1", "missing-wait"};
inline constexpr Rule kDeadlock{"P2", "deadlock"};
inline constexpr Rule kStepLost{"P3", "step-lost"};
inline constexpr Rule kBadStep{"P4", "bad-step"};

// A placement: buffers in the arena.
inline constexpr Rule kLiveOverlap{"M1", "live-overlap"};
inline constexpr Rule kViewOutsideBuffer{"M2", "view-outside-buffer"};

// A run, or its simulation.
inline constexpr Rule kBodyFailed{"R1", "body-failed"};
inline constexpr Rule kStalled{"R2", "stalled"};
inline constexpr Rule kCancelled{"R3", "cancelled"};
inline constexpr Rule kReentry{"R4", "re-entry"};
inline constexpr Rule kLaneLost{"R5", "lane-lost"};
inline constexpr Rule kBadBinding{"R6", "bad-binding"};
inline constexpr Rule kOutOfMemory{"R7", "out-of-memory"};
inline constexpr Rule kBadCosts{"R8", "bad-costs"};
inline constexpr Rule kRanksDisagree{"R9", "ranks-disagree"};
inline constexpr Rule kTransferFailed{"R10", "transfer-failed"};
inline constexpr Rule kGroupBroken{"R11", "group-broken"};

// A timeline: a run that was saved.
inline constexpr Rule kBadTimeline{"T1", "bad-timeline"};
inline constexpr Rule kBadFile{"T2", "bad-file"};

}  // namespace dynaflow

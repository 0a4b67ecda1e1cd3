#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "dynaflow/base/lane.h"
#include "dynaflow/graph/graph.h"
#include "dynaflow/schedule/batch.h"

namespace dynaflow {

/// A fused kernel or body that runs in place of a chain of ops. It states the types it was written
/// for, in the order of the chain's own operands; verification compares them (S7).
struct Replacement {
  std::string name;
  std::vector<Type> inputs = {};
  std::vector<Type> outputs = {};
  Kernel kernel = {};
  std::shared_ptr<const Body> body = {};
  std::string fault = {};  ///< why it cannot stand for the chain, where its maker knows that
};

inline constexpr std::uint32_t kNoReplacement = std::numeric_limits<std::uint32_t>::max();

/// Where in a strategy's source something was recorded. The texts must outlive it: those of a
/// source_location always do, and a front end of another language keeps its own.
struct Where {
  Where() = default;
  Where(const std::source_location& here)  // NOLINT: so that a default argument is the caller's
      : function(here.function_name()), file(here.file_name()), line(here.line()) {}
  Where(const char* in_function, const char* in_file, std::uint32_t at_line)
      : function(in_function), file(in_file), line(at_line) {}

  const char* function = "";
  const char* file = "";
  std::uint32_t line = 0;
};

/// "Mine::schedule, mine.cpp:41".
[[nodiscard]] std::string to_string(const Where& where);

/// One recorded `execute`: some ops on some micro-batches as one step of a lane.
struct ScheduledStep {
  std::vector<OpId> ops;  ///< several only under a replacement
  std::vector<Microbatch> microbatches;
  LaneId lane;
  std::uint32_t replacement = kNoReplacement;  ///< index into Schedule::replacements
  std::vector<StepId> after;                   ///< added finish-to-start order
  Where where;
  /// Whose handles `execute` was given: one foreign op, lane or step spoils it.
  enum class Handles : std::uint8_t { kOurs, kForeign } handles = Handles::kOurs;
};

/// What a strategy recorded, unchecked: `verify` says whether it may become a Plan.
/// Sizes are not part of it: one schedule serves every batch with the same `Key`.
struct Schedule {
  /// What the recording depended on.
  struct Key {
    std::uint32_t microbatches = 0;
    std::vector<std::uint8_t> empty;                                ///< per micro-batch
    std::vector<std::pair<std::uint32_t, std::int64_t>> rows_read;  ///< (micro-batch, rows)

    [[nodiscard]] bool matches(const Split& split) const;
  };

  std::string strategy;
  Key key;
  std::vector<LaneRequest> lanes;
  std::vector<Replacement> replacements;
  std::vector<ScheduledStep> steps;
  std::vector<Diagnostic> findings;  ///< seen while recording (S9, S11)
};

/// One line per step, in recorded order.
[[nodiscard]] std::string to_string(const Schedule& schedule, const Graph& graph);

}  // namespace dynaflow

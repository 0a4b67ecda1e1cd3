#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/capture/capture.h"

/// How every tensor of a Capture carries the batch, and so how often each call must run.
namespace dynaflow::rows {

/// How a tensor carries the batch.
struct Carry {
  enum class Kind : std::uint8_t {
    kWhole,    ///< the same for every micro-batch; may be a merged call's (a mean over the batch)
    kSplit,    ///< row i is made of row i: a micro-batch's tensor is a part of the batch's
    kLocal,    ///< right only together with the micro-batch that made it (a sort of its tokens)
    kPartial,  ///< a sum over rows: the micro-batches' tensors add up to the batch's
    kCoupled,  ///< has rows, but not the batch's (a sort of them): exists for the whole batch only
  };

  Kind kind = Kind::kWhole;
  std::int32_t dim = -1;  ///< split ones: the dimension that holds the batch …
  Extent outer = 1;       ///< … whose indices count outer × batch × inner, inner fastest

  friend bool operator==(const Carry&, const Carry&) = default;
};

/// What a call needs to be right.
struct CallRows {
  enum class Runs : std::uint8_t {
    kRowWise,  ///< on any rows: per micro-batch or merged
    kOnce,     ///< needs no rows of its own: once per batch; results are shared or sliced
    kMerged,   ///< on all rows at once, for what it computes
    kDrawn,    ///< random: for the whole batch, in program order
    kUnknown,  ///< on all rows at once, since the table does not know it
  };
  static constexpr std::uint32_t kNoGroup = UINT32_MAX;

  Runs runs = Runs::kRowWise;
  std::string reason;              ///< for everything but row-wise: why
  std::uint32_t group = kNoGroup;  ///< calls that share local tensors: they run in one step
};

/// The result, over a Capture of its own: calls that number the batch's rows (arange) are
/// duplicated there where one user needs the batch's numbers and another the micro-batch's.
struct Rows {
  capture::Capture capture;
  std::vector<Carry> tensors = {};         ///< per tensor
  std::vector<CallRows> calls = {};        ///< per call
  std::vector<std::string> warnings = {};  ///< declared operators that are not called
};

/// What users say of operators that the table does not know.
struct Declarations {
  /// "library::op": with the batch in dimension 0 of some arguments, row i of every result depends
  /// on row i of those and on whole tensors only.
  std::vector<std::string> row_wise;
};

[[nodiscard]] Rows find_rows(capture::Capture capture, const Declarations& declarations = {});

/// One line per call: its name, how it runs, how each output carries the batch, the reason.
[[nodiscard]] std::string to_string(const Rows& rows);
[[nodiscard]] std::string to_string(const Carry& carry);
[[nodiscard]] std::string to_string(Carry::Kind kind);
[[nodiscard]] std::string to_string(CallRows::Runs runs);

}  // namespace dynaflow::rows

#pragma once

#include <optional>

#include "import/rows/families.h"

/// Row numbers: arange(batch) and what is computed from it. Where a call uses them to find rows
/// among those it is given, a micro-batch counts its own rows; anywhere else they are the batch's
/// numbers, made once and sliced.
namespace dynaflow::rows {

/// Whether the call's only result is its argument with the same shape and numbers.
[[nodiscard]] bool copies(const Site& site);

/// What row r's numbers, which lie in [r·step, (r+1)·step), become when the call divides them by a
/// constant and rounds down; none where it does not or a row would straddle.
[[nodiscard]] std::optional<Extent> divided_step(const Site& site);

/// Makes the outcome's result row numbers where the argument is and they stay what they are.
void follow_numbers(const Site& site, Family family, Outcome& outcome);

/// The Capture with a chain of row numbers of its own before every call that counts its own rows.
struct Recounted {
  capture::Capture capture;
  std::vector<State> states;           ///< per tensor
  std::vector<Outcome> outcomes = {};  ///< per call
  std::vector<bool> local;             ///< per tensor: numbers of a micro-batch's own rows
};
[[nodiscard]] Recounted recount(capture::Capture capture, std::vector<State> states,
                                std::vector<Outcome> outcomes);

}  // namespace dynaflow::rows

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/cut/labels.h"
#include "import/cut/views.h"
#include "import/rows/rows.h"

namespace dynaflow::cut {

/// Calls by the call that must run before them, views left out: data, and writes to one memory.
[[nodiscard]] std::vector<std::vector<capture::CallId>> find_dependencies(
    const capture::Capture& capture, const Views& views, const rows::Rows& rows);

/// One region to be: its calls and how they run.
struct Draft {
  std::vector<capture::CallId> calls;
  Label label;
  RunsPer runs = RunsPer::kMicrobatch;
  std::string runs_reason;
};

/// Deals the calls out to regions such that no two regions need each other: in program order, each
/// call joins its label's region, and where that would close a circle, a new one is opened. Calls
/// that share what must not leave a step are kept together, whatever it takes.
[[nodiscard]] std::vector<Draft> make_drafts(const rows::Rows& rows, const Views& views,
                                             const Labels& labels);

}  // namespace dynaflow::cut

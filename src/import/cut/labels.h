#pragma once

#include <string>
#include <vector>

#include "import/cut/cut.h"

namespace dynaflow::cut {

/// Which op a call should be part of. Calls with equal keys belong together; a call without a key
/// goes between.
struct Label {
  std::string key;  ///< empty: no rule speaks of it
  std::string name;
  std::vector<std::string> tags;
};

struct Labels {
  std::vector<Label> calls;  ///< per call
  std::vector<std::string> warnings;
};

[[nodiscard]] Labels make_labels(const capture::Capture& capture, const std::vector<Rule>& rules);

/// Whether a glob ("*", "?") matches all of `text`.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

[[nodiscard]] bool is_collective(const capture::Call& call);

}  // namespace dynaflow::cut

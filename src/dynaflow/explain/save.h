#pragma once

#include <filesystem>
#include <span>

#include "dynaflow/base/result.h"
#include "dynaflow/explain/html.h"

namespace dynaflow {

/// Saves a run as the suffix says: `.json` is a trace that Perfetto opens and `load_timeline`
/// reads,
/// `.html` a page to look at. T2 bad-file for another suffix or a file that cannot be written.
[[nodiscard]] Result<void> save(const Timeline& timeline, const std::filesystem::path& path);

/// Saves several runs as one page, named as the file is.
[[nodiscard]] Result<void> save_html(const std::filesystem::path& path,
                                     std::span<const NamedTimeline> timelines);

/// A run that was saved as `.json`. T2 bad-file if it cannot be read, T1 bad-timeline if it is
/// none.
[[nodiscard]] Result<Timeline> load_timeline(const std::filesystem::path& path);

}  // namespace dynaflow

#include "dynaflow/explain/save.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

namespace dynaflow {
namespace {

Unexpected bad_file(const std::filesystem::path& path, std::string message, std::string fix) {
  return Unexpected(Error(Diagnostic{kBadFile, std::move(message), path.string(), std::move(fix)}));
}

std::string last_failure() { return std::generic_category().message(errno); }

Result<void> write(const std::filesystem::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return {};
  return bad_file(path, "it cannot be written: " + last_failure(), "save to a folder that exists");
}

}  // namespace

Result<void> save(const Timeline& timeline, const std::filesystem::path& path) {
  if (path.extension() == ".json") return write(path, to_chrome_trace(timeline));
  if (path.extension() == ".html") {
    const NamedTimeline named[] = {{path.stem().string(), timeline}};
    return save_html(path, named);
  }
  return bad_file(path, "its name does not say as what to save", "end it in .json or .html");
}

Result<void> save_html(const std::filesystem::path& path,
                       std::span<const NamedTimeline> timelines) {
  return write(path, to_html(path.stem().string(), timelines));
}

Result<Timeline> load_timeline(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.is_open() || errno != 0) {
    return bad_file(path, "it cannot be read: " + last_failure(), "name a run saved as .json");
  }
  auto timeline = from_chrome_trace(text.str());
  if (!timeline) {
    Diagnostic finding = timeline.error().first();
    finding.where = path.string() + ", " + finding.where;
    return Unexpected(Error(std::move(finding)));
  }
  return timeline;
}

}  // namespace dynaflow

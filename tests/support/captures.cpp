#include "support/captures.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "import/capture/json.h"

namespace dynaflow::capture {

std::vector<std::string> captured_models() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator("tests/data/captures")) {
    names.push_back(file.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

std::string captured_text(const std::string& model) {
  std::ifstream file("tests/data/captures/" + model + ".json");
  return {std::istreambuf_iterator<char>(file), {}};
}

Capture captured(const std::string& model) { return from_json(captured_text(model)).value(); }

}  // namespace dynaflow::capture

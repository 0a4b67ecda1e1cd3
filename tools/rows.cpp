// dynaflow-rows CAPTURE.json [--text]: how each tensor of a saved Capture carries the batch and how
// each call runs, as JSON (with the Capture that the answer is about) or as text.
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "import/capture/json.h"
#include "import/rows/rows.h"

namespace {

using dynaflow::rows::CallRows;
using dynaflow::rows::Carry;
using Json = nlohmann::ordered_json;

std::string to_json(const dynaflow::rows::Rows& rows) {
  Json answer = {{"capture", Json::parse(dynaflow::capture::to_json(rows.capture))},
                 {"tensors", Json::array()},
                 {"calls", Json::array()}};
  const auto symbols = rows.capture.symbol_names();
  for (const Carry& carry : rows.tensors) {
    answer["tensors"].push_back({{"kind", to_string(carry.kind)},
                                 {"dim", carry.dim},
                                 {"outer", dynaflow::to_string(carry.outer, symbols)}});
  }
  for (const CallRows& call : rows.calls) {
    Json entry = {{"runs", to_string(call.runs)}, {"reason", call.reason}};
    if (call.group != CallRows::kNoGroup) entry["group"] = call.group;
    answer["calls"].push_back(std::move(entry));
  }
  return answer.dump();
}

}  // namespace

int main(int count, char** values) {
  const std::span<char*> arguments(values, static_cast<std::size_t>(count));
  if (count < 2) {
    std::cerr << "usage: dynaflow-rows CAPTURE.json [--text]\n";
    return 2;
  }
  std::ifstream file(arguments[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto capture = dynaflow::capture::from_json(text);
  if (!capture) {
    std::cerr << to_string(capture.error()) << '\n';
    return 1;
  }
  const auto rows = dynaflow::rows::find_rows(std::move(*capture));
  const bool as_text = count > 2 && std::string(arguments[2]) == "--text";
  std::cout << (as_text ? to_string(rows) : to_json(rows)) << '\n';
  return 0;
}

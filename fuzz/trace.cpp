// A saved run that somebody tampered with: either it is refused, or it is a run like any other,
// which can be explained, drawn and saved again.
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "bytes.h"
#include "dynaflow/dynaflow.h"

namespace dynaflow::testing {
namespace {

using Json = nlohmann::json;

/// Two lanes with waits both ways, a merged step and one of unknown CPU time.
std::string saved_run() {
  constexpr auto kCompute = CostClass::kCompute;
  constexpr auto kNetwork = CostClass::kNetwork;
  const LaneId compute{0};
  const LaneId network{1};
  Timeline run{.lanes = {"compute", "network"}, .spans = {}, .total_ns = 10'000};
  run.spans = {
      {{0}, compute, "attn.0", kCompute, 0, 2'000, {0, 1}, {}, 1'900},
      {{1}, compute, "attn.1", kCompute, 2'000, 4'000, {1, 2}, {}, 2'000},
      {{2}, network, "sum.0", kNetwork, 2'100, 5'000, {0, 1}, {{0, 1}}},
      {{3}, network, "sum.1", kNetwork, 5'000, 7'000, {1, 2}, {{0, 2}}},
      {{4}, compute, "mlp.0-1", kCompute, 7'100, 9'000, {0, 2}, {{1, 2}}, 1'500},
      {{5}, compute, "norm.0-1", CostClass::kMemory, 9'000, 9'900, {0, 2}, {}},
  };
  return to_chrome_trace(run);
}

void collect(Json& node, std::vector<Json*>& all) {
  all.push_back(&node);
  if (!node.is_structured()) return;
  for (Json& child : node) collect(child, all);
}

void tamper(Json& document, Bytes& bytes) {
  std::vector<Json*> nodes;
  collect(document, nodes);
  Json& node = *nodes[(bytes.next() * 256U + bytes.next()) % nodes.size()];
  const Json other = *nodes[bytes.below(nodes.size())];
  const std::array<Json, 14> values{nullptr,       true,          -1,   0,     1,   2,
                                    3.5,           1ULL << 32,    1e15, 1e300, "x", "X",
                                    Json::array(), Json::object()};
  const std::size_t which = bytes.below(values.size() + 3);
  if (which < values.size()) {
    node = values[which];
  } else if (which == values.size() && node.is_structured() && !node.empty()) {
    node.erase(node.begin());
  } else if (which == values.size() + 1 && node.is_array()) {
    node.push_back(other);
  } else {
    node = other;
  }
}

void check(const Timeline& run) {
  const auto again = from_chrome_trace(to_chrome_trace(run));
  require(again.has_value() && *again == run, "a run that was read cannot be saved and read again");
  const Explanation explanation = explain(run);
  for (const Explanation::Lane& lane : explanation.lanes) {
    const std::int64_t parts =
        lane.busy.total_ns() + lane.waited.total_ns() + lane.tail_ns + lane.host_ns;
    require(parts == run.total_ns, "the parts of lane " + lane.name + " are not the whole");
    require(lane.taken_ns >= 0, "lane " + lane.name + " had more than a core");
  }
  require(!to_string(explanation).empty() && !to_string(run).empty(), "nothing to show");
  const std::array named{NamedTimeline{"run", run}};
  require(!to_html("fuzz", named).empty(), "an empty page");
}

void try_one(const std::uint8_t* data, std::size_t size) {
  static const Json kSaved = Json::parse(saved_run());
  Bytes bytes(data, size);
  Json document = kSaved;
  while (!bytes.done()) tamper(document, bytes);
  const auto run = from_chrome_trace(document.dump());
  if (size == 0) require(run.has_value(), "what was saved is refused");
  if (run) check(*run);
  if (!run) require(run.error().broke(kBadTimeline), to_string(run.error()));
}

}  // namespace
}  // namespace dynaflow::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dynaflow::testing::try_one(data, size);
  return 0;
}

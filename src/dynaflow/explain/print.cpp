#include <algorithm>
#include <array>
#include <map>

#include "dynaflow/explain/explanation.h"
#include "dynaflow/timeline/duration.h"

namespace dynaflow {
namespace {

constexpr std::size_t kOpsNamed = 3;
constexpr std::size_t kBesideTheSum = 7;  // the column, and those behind it

/// "-" for none, "<1 %" for what would be rounded to none.
std::string share_of(std::int64_t part, std::int64_t whole) {
  if (part == 0) return "-";
  return part * 200 < whole ? "<1 %" : percent(part, whole);
}

std::string time_and_share(std::int64_t part, std::int64_t whole) {
  return duration(part) + " (" + (part == 0 ? "0 %" : share_of(part, whole)) + ")";
}

std::string path_line(const Explanation& explanation) {
  const Explanation::Path& path = explanation.path;
  std::string text = count_of(path.steps.size(), "step") + ": ";
  const auto add = [&](const char* what, std::int64_t ns) {
    if (ns > 0) text += what + (" " + time_and_share(ns, explanation.total_ns)) + ", ";
  };
  add("compute", path.busy.compute_ns);
  add("memory", path.busy.memory_ns);
  add("network", path.busy.network_ns);
  return text + "host " + time_and_share(path.host_ns, explanation.total_ns);
}

/// The ops that make up most of the path.
std::string longest_line(const Explanation& explanation) {
  std::map<std::string, std::int64_t> by_op;
  for (const Explanation::PathStep& step : explanation.path.steps) {
    by_op[step.label.substr(0, step.label.rfind('.'))] += step.ns;
  }
  std::vector<std::pair<std::string, std::int64_t>> ops(by_op.begin(), by_op.end());
  std::ranges::stable_sort(ops, std::ranges::greater(), &decltype(ops)::value_type::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(ops.size(), kOpsNamed); ++i) {
    text += (i == 0 ? "" : ", ") + ops[i].first + " " +
            time_and_share(ops[i].second, explanation.total_ns);
  }
  return text;
}

std::string exposed_line(const Explanation& explanation) {
  if (explanation.network_ns == 0) return "no network steps";
  return time_and_share(explanation.exposed_ns, explanation.total_ns) + ": of " +
         duration(explanation.network_ns) + " network time with no other step beside it";
}

std::string bound_line(const Explanation& explanation) {
  const Explanation::Bound& bound = explanation.bound;
  const bool by_lane = bound.by == Explanation::Bound::By::kLane;
  return time_and_share(bound.ns, explanation.total_ns) + ": " +
         (by_lane ? "lane " + explanation.lanes[bound.lane.index].name + " is busy that long"
                  : "the longest chain of waiting steps takes that long") +
         ", whatever the order of these steps";
}

using Cells = std::array<std::string, 9>;

Cells cells_of(const Explanation::Lane& lane, std::int64_t total) {
  return {lane.name,
          share_of(lane.busy.total_ns(), total),
          share_of(lane.waited.compute_ns, total),
          share_of(lane.waited.memory_ns, total),
          share_of(lane.waited.network_ns, total),
          share_of(lane.tail_ns, total),
          share_of(lane.host_ns, total),
          share_of(lane.queued_ns, total),
          share_of(lane.taken_ns, total)};
}

/// A line per lane: what adds up to the whole, a bar, and what is beside it.
std::string lane_table(const Explanation& explanation) {
  std::vector<Cells> rows{
      {"lane", "busy", "waits: compute", "memory", "network", "tail", "host", "queued", "taken"}};
  for (const auto& lane : explanation.lanes) rows.push_back(cells_of(lane, explanation.total_ns));
  std::array<std::size_t, 9> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    text += "  " + padded(row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) {
      text += (i == kBesideTheSum ? "  | " : "   ") + right_aligned(row[i], widths[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string to_string(const Explanation& explanation) {
  std::string text = "explanation  " + count_of(explanation.lanes.size(), "lane") + ", " +
                     count_of(explanation.steps, "step") + ", " + duration(explanation.total_ns) +
                     "\n";
  if (explanation.steps == 0) return text;
  text += "  critical path  " + path_line(explanation) + "\n";
  text += "  most of it     " + longest_line(explanation) + "\n";
  text += "  exposed        " + exposed_line(explanation) + "\n";
  text += "  bound          " + bound_line(explanation) + "\n\n";
  text += lane_table(explanation) + "\n";
  for (const std::string& sentence : advice(explanation)) text += "  " + sentence + "\n";
  return text;
}

}  // namespace dynaflow

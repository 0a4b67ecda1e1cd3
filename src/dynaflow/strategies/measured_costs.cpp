#include "dynaflow/strategies/measured_costs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dynaflow/base/check.h"

namespace dynaflow {
namespace {

using Json = nlohmann::ordered_json;
using Point = MeasuredCosts::Point;

/// A schedule must promise this much over none: what is measured varies.
constexpr double kWorthwhile = 0.97;

std::int64_t between(std::int64_t low, std::int64_t high, double share) {
  return low + static_cast<std::int64_t>(static_cast<double>(high - low) * share);
}

Point mixed(const Point& low, const Point& high, std::int64_t rows) {
  const double share =
      static_cast<double>(rows - low.rows) / static_cast<double>(high.rows - low.rows);
  return {rows, between(low.compute_ns, high.compute_ns, share),
          between(low.network_ns, high.network_ns, share),
          between(low.network_cpu_ns, high.network_cpu_ns, share),
          between(low.whole_ns, high.whole_ns, share)};
}

Point scaled(const Point& point, std::int64_t rows) {
  return mixed(Point{}, point, rows);  // a batch of nothing costs nothing
}

Unexpected refuse(const std::string& why) {
  return Unexpected(Error(Diagnostic{kBadCosts, "not measured costs: " + why, "costs_from_json",
                                     "measure again on this machine"}));
}

Json to_json(const Point& point) {
  return {{"rows", point.rows},
          {"compute_ns", point.compute_ns},
          {"network_ns", point.network_ns},
          {"network_cpu_ns", point.network_cpu_ns},
          {"whole_ns", point.whole_ns}};
}

Point point_from(const Json& json) {
  return {json.at("rows"), json.at("compute_ns"), json.at("network_ns"), json.at("network_cpu_ns"),
          json.at("whole_ns")};
}

bool is_sound(const MeasuredCosts& costs) {
  const auto rises = [](const Point& a, const Point& b) { return a.rows < b.rows; };
  const auto negative = [](const Point& p) {
    return p.rows < 1 || p.compute_ns < 0 || p.network_ns < 0 || p.network_cpu_ns < 0 ||
           p.whole_ns < 0;
  };
  return costs.transfers > 0 && !costs.points.empty() &&
         std::ranges::is_sorted(costs.points, rises) &&
         std::ranges::none_of(costs.points, negative) &&
         std::ranges::all_of(costs.slowdowns, [](double each) { return each > 0; });
}

}  // namespace

MeasuredCosts MeasuredCosts::after(const Race& race) const {
  DYNAFLOW_CHECK(!points.empty());
  MeasuredCosts learned = *this;
  Point& largest = learned.points.back();
  largest.whole_ns = race.taken_ns(0);
  learned.slowdowns.clear();
  for (std::size_t parts = 1; parts < race.runners(); ++parts) {
    const std::int64_t at_best = overlapped_ns(largest.rows, static_cast<int>(parts));
    learned.slowdowns.push_back(static_cast<double>(race.taken_ns(parts)) /
                                static_cast<double>(std::max<std::int64_t>(at_best, 1)));
  }
  return learned;
}

Point MeasuredCosts::at(std::int64_t rows) const {
  DYNAFLOW_CHECK(!points.empty());
  const auto above = std::ranges::lower_bound(points, rows, {}, &Point::rows);
  if (above == points.end()) return scaled(points.back(), rows);
  if (above->rows == rows || above == points.begin()) return *above;  // fewer rows save nothing
  return mixed(*(above - 1), *above, rows);
}

std::int64_t MeasuredCosts::overlapped_ns(std::int64_t rows, int parts) const {
  const Point one = at((rows + parts - 1) / parts);
  const std::int64_t compute = one.compute_ns * parts;
  const std::int64_t network = one.network_ns * parts;
  if (parts == 1) return compute + network;
  const std::int64_t busy = one.network_cpu_ns * parts;
  const std::int64_t pieces = transfers * parts;
  return std::max(compute + busy + std::max<std::int64_t>(network - busy, 0) / pieces,
                  network + compute / pieces);
}

std::int64_t MeasuredCosts::expected_ns(std::int64_t rows, int parts) const {
  const std::int64_t at_best = overlapped_ns(rows, parts);
  if (slowdowns.empty()) return at_best;
  const auto index = std::min(static_cast<std::size_t>(parts) - 1, slowdowns.size() - 1);
  return static_cast<std::int64_t>(static_cast<double>(at_best) * slowdowns[index]);
}

std::optional<int> MeasuredCosts::best_parts(std::int64_t rows, int most) const {
  int best = 1;
  for (int parts = 2; parts <= std::min<std::int64_t>(most, rows); ++parts) {
    if (expected_ns(rows, parts) < expected_ns(rows, best)) best = parts;
  }
  const auto scheduled = static_cast<double>(expected_ns(rows, best));
  const auto whole = static_cast<double>(at(rows).whole_ns);
  return scheduled < whole * kWorthwhile ? std::optional(best) : std::nullopt;
}

std::string to_json(const MeasuredCosts& costs) {
  Json points = Json::array();
  for (const Point& point : costs.points) points.push_back(to_json(point));
  return Json{{"machine", costs.machine},
              {"transfers", costs.transfers},
              {"points", points},
              {"slowdowns", costs.slowdowns}}
      .dump(2);
}

Result<MeasuredCosts> costs_from_json(std::string_view document) {
  MeasuredCosts costs;
  try {
    const Json json = Json::parse(document);
    costs.machine = json.at("machine");
    costs.transfers = json.at("transfers");
    for (const Json& point : json.at("points")) costs.points.push_back(point_from(point));
    for (const Json& each : json.at("slowdowns")) costs.slowdowns.push_back(each);
  } catch (const Json::exception& error) {
    return refuse(error.what());
  }
  if (!is_sound(costs)) return refuse("sizes must rise and times be positive");
  return costs;
}

}  // namespace dynaflow

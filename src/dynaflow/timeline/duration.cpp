#include "dynaflow/timeline/duration.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace dynaflow {

std::string duration(std::int64_t ns) {
  if (ns < 1000) return std::to_string(ns) + " ns";
  constexpr std::array<std::string_view, 3> kUnits{" us", " ms", " s"};
  std::size_t unit = 0;
  std::int64_t unit_ns = 1000;
  while (unit + 1 < kUnits.size() && ns >= unit_ns * 1000 - unit_ns / 20) {
    ++unit;
    unit_ns *= 1000;
  }
  const std::int64_t tenths = (ns + unit_ns / 20) / (unit_ns / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
         std::string(kUnits[unit]);
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return std::to_string(whole == 0 ? 0 : (part * 100 + whole / 2) / whole) + " %";
}

std::string count_of(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace dynaflow

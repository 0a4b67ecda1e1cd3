#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dynaflow {

/// "850 ns", "12.4 us", "1.5 s".
[[nodiscard]] std::string duration(std::int64_t ns);
/// "62 %"; of nothing, "0 %".
[[nodiscard]] std::string percent(std::int64_t part, std::int64_t whole);
/// "1 lane", "2 lanes".
[[nodiscard]] std::string count_of(std::size_t count, const std::string& noun);

/// At least `width` characters: spaces behind, or in front.
[[nodiscard]] std::string padded(std::string text, std::size_t width);
[[nodiscard]] std::string right_aligned(const std::string& text, std::size_t width);

}  // namespace dynaflow

#include "dynaflow/graph/type.h"

#include <array>
#include <string_view>

namespace dynaflow {
namespace {

struct DTypeRow {
  std::string_view name;
  std::int64_t size;
};
constexpr std::array<DTypeRow, 12> kDTypes{{{"i8", 1},
                                            {"i32", 4},
                                            {"i64", 8},
                                            {"bf16", 2},
                                            {"f16", 2},
                                            {"f32", 4},
                                            {"f64", 8},
                                            {"bool", 1},
                                            {"u8", 1},
                                            {"i16", 2},
                                            {"c64", 8},
                                            {"c128", 16}}};
constexpr std::array<std::string_view, 4> kKinds{"split", "whole", "partial", "coupled"};
constexpr std::array<std::string_view, 3> kCosts{"compute", "memory", "network"};

}  // namespace

std::int64_t size_of(DType dtype) { return kDTypes.at(static_cast<std::size_t>(dtype)).size; }

std::string to_string(DType dtype) {
  return std::string(kDTypes.at(static_cast<std::size_t>(dtype)).name);
}

std::string to_string(Kind kind) { return std::string(kKinds.at(static_cast<std::size_t>(kind))); }

std::string to_string(CostClass cost) {
  return std::string(kCosts.at(static_cast<std::size_t>(cost)));
}

std::string to_string(const Type& type, std::span<const std::string> symbols) {
  return to_string(type.kind) + " " + to_string(type.dtype) + (type.has_rows() ? "[rows, " : "[") +
         to_string(type.elements, symbols) + "]";
}

}  // namespace dynaflow

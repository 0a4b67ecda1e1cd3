#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "dynaflow/base/id.h"

namespace dynaflow {

/// The caller's memory for one input or output of one run: its blocks (mostly one), in each the
/// batch's rows, no gaps.
struct Binding {
  enum class Use : std::uint8_t { kReadOnly, kWritable };

  ValueId value;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  Use use = Use::kWritable;
  std::int64_t element_bytes = 1;  ///< one: untyped memory, whose elements are not checked

  friend bool operator==(const Binding&, const Binding&) = default;
};

template <class T>
[[nodiscard]] Binding bind(ValueId value, std::span<T> memory) {
  using Plain = std::remove_const_t<T>;
  const auto use = std::is_const_v<T> ? Binding::Use::kReadOnly : Binding::Use::kWritable;
  return {value, reinterpret_cast<std::byte*>(const_cast<Plain*>(memory.data())),
          static_cast<std::int64_t>(memory.size_bytes()), use, sizeof(T)};
}

/// Anything contiguous: `bind(x, vector)`.
template <class Container>
[[nodiscard]] Binding bind(ValueId value, Container& memory) {
  return bind(value, std::span(memory));
}

}  // namespace dynaflow

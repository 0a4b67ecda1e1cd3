#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

namespace dynaflow {

/// A typed index: an OpId cannot be passed where a LaneId is meant. A default one is invalid.
template <class Tag>
struct Id {
  static constexpr std::uint32_t kInvalid = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t index = kInvalid;

  [[nodiscard]] constexpr bool valid() const { return index != kInvalid; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using OpId = Id<struct OpTag>;
using ValueId = Id<struct ValueTag>;
using StorageId = Id<struct StorageTag>;
using StateId = Id<struct StateTag>;
using SymbolId = Id<struct SymbolTag>;
using LaneId = Id<struct LaneTag>;
using StepId = Id<struct StepTag>;
using BufferId = Id<struct BufferTag>;

/// The i-th part of a split batch, counted from 0.
using Microbatch = Id<struct MicrobatchTag>;

template <class IdType>
[[nodiscard]] constexpr IdType id_at(std::size_t index) {
  return IdType{static_cast<std::uint32_t>(index)};
}

/// Adjacent micro-batches [first, last). Iterates over Microbatch ids.
struct MicrobatchRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  static constexpr MicrobatchRange of(Microbatch mb) { return {mb.index, mb.index + 1}; }

  [[nodiscard]] constexpr std::uint32_t count() const { return last - first; }
  [[nodiscard]] constexpr bool contains(Microbatch mb) const {
    return first <= mb.index && mb.index < last;
  }
  [[nodiscard]] constexpr bool overlaps(MicrobatchRange other) const {
    return first < other.last && other.first < last;
  }
  friend constexpr bool operator==(MicrobatchRange, MicrobatchRange) = default;

  struct Iterator {
    using value_type = Microbatch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Microbatch*;
    using reference = Microbatch;
    using iterator_category = std::input_iterator_tag;

    std::uint32_t at = 0;
    constexpr Microbatch operator*() const { return {at}; }
    constexpr Iterator& operator++() {
      ++at;
      return *this;
    }
    constexpr Iterator operator++(int) { return {at++}; }
    friend constexpr bool operator==(Iterator, Iterator) = default;
  };
  [[nodiscard]] constexpr Iterator begin() const { return {first}; }
  [[nodiscard]] constexpr Iterator end() const { return {last}; }
};

}  // namespace dynaflow

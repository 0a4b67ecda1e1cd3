#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "import/rows/rows.h"

namespace dynaflow::rows {

/// Where in a tensor the batch sits: dimension `dim` counts outer × batch × inner.
struct Place {
  std::int32_t dim = 0;
  Extent outer = 1;

  friend bool operator==(const Place&, const Place&) = default;
};

/// What is known of a tensor while the calls are walked: its Carry, and what its numbers mean where
/// that decides whether rows stay apart.
struct State {
  static constexpr std::uint32_t kNoSort = UINT32_MAX;

  enum class Role : std::uint8_t {
    kData,
    kRowNumbers,  ///< row r holds numbers in [r·step, (r+1)·step)
    kSortedKeys,  ///< the keys of `sort`, in its order
    kOrder,       ///< where the rows in the order of `sort` come from, in units of 1/step of a row
    kInverse,     ///< where `sort` put each row
    kCounts,      ///< how often `sort` saw each key 0, 1, …
    kOffsets,     ///< where in the order of `sort` each key ends
    kOpaque,      ///< of `sort`, and nothing may read it
  };

  Carry carry = {};
  Role role = Role::kData;
  /// The call whose order the rows are in, when it is not the batch's: right per micro-batch only.
  std::uint32_t sort = kNoSort;
  Extent step = 0;
  enum class Numbers : std::uint8_t { kAny, kPositions } numbers = Numbers::kAny;  ///< [i] is i
  std::string why = {};  ///< coupled ones: "logits, which sort computes from all rows"

  [[nodiscard]] bool is_split() const { return carry.kind == Carry::Kind::kSplit; }
  [[nodiscard]] bool is_coupled() const { return carry.kind == Carry::Kind::kCoupled; }
  [[nodiscard]] bool is_local() const { return sort != kNoSort; }
  /// Whole, or complete by the time anything reads it.
  [[nodiscard]] bool is_whole() const { return !is_split() && !is_coupled() && !is_local(); }
  [[nodiscard]] Place place() const { return {carry.dim, carry.outer}; }
};

[[nodiscard]] inline State whole() { return {}; }

[[nodiscard]] inline State split(const Place& place) {
  return {.carry = {.kind = Carry::Kind::kSplit, .dim = place.dim, .outer = place.outer}};
}

[[nodiscard]] inline State partial() { return {.carry = {.kind = Carry::Kind::kPartial}}; }

[[nodiscard]] inline State coupled(std::string why) {
  return {.carry = {.kind = Carry::Kind::kCoupled}, .why = std::move(why)};
}

/// What a family says of a call.
struct Outcome {
  enum class Sizes : std::uint8_t {
    kFixed,       ///< an argument that changes with the batch means the whole batch's
    kFollowRows,  ///< such arguments are sizes, and a micro-batch's are its own
  };

  CallRows::Runs runs = CallRows::Runs::kRowWise;
  std::string reason = {};
  std::vector<State> outputs = {};
  Sizes sizes = Sizes::kFixed;
  /// Row numbers that the call uses to find rows among those it is given: a micro-batch must count
  /// its own.
  std::vector<capture::TensorId> counted = {};
  /// Set where rows in the order of a sort are used in a way that is not understood.
  std::vector<std::uint32_t> refused_sorts = {};
};

}  // namespace dynaflow::rows

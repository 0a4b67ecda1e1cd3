#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dynaflow/graph/extent.h"

namespace dynaflow {

enum class DType : std::uint8_t {
  kI8,
  kI32,
  kI64,
  kBF16,
  kF16,
  kF32,
  kF64,
  kBool,
  kU8,
  kI16,
  kC64,   ///< two f32: real, imaginary
  kC128,  ///< two f64
};

[[nodiscard]] std::int64_t size_of(DType dtype);
[[nodiscard]] std::string to_string(DType dtype);

/// How a value carries the batch.
enum class Kind : std::uint8_t {
  kSplit,    ///< one row per batch row: a micro-batch is a slice
  kWhole,    ///< the same for every micro-batch (a weight, a table)
  kPartial,  ///< a sum over rows: every micro-batch adds its part, in recorded order
  kCoupled,  ///< batch-sized, but row i is not made from row i (a sort): exists only unsplit
};

[[nodiscard]] std::string to_string(Kind kind);

/// Which resource an op mainly uses: what can run beside it without slowing it down.
enum class CostClass : std::uint8_t { kCompute, kMemory, kNetwork };

[[nodiscard]] std::string to_string(CostClass cost);

/// `elements` of `dtype`: per batch row for split and coupled values, in all for the others.
struct Type {
  Kind kind = Kind::kSplit;
  DType dtype = DType::kF32;
  Extent elements = 1;

  [[nodiscard]] bool has_rows() const { return kind == Kind::kSplit || kind == Kind::kCoupled; }
  [[nodiscard]] Extent bytes() const { return elements * size_of(dtype); }
  friend bool operator==(const Type&, const Type&) = default;
};

/// "split f32[rows, 64]", "whole i64[8*length]"; `symbols` are the graph's names.
[[nodiscard]] std::string to_string(const Type& type, std::span<const std::string> symbols = {});

}  // namespace dynaflow

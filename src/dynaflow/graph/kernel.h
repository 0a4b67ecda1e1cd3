#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>

#include "dynaflow/graph/type.h"

namespace dynaflow {

/// Whether a step is the first to write a partial sum.
enum class PartialSum : std::uint8_t {
  kStart,  ///< overwrite: nothing has been summed yet
  kAdd,    ///< add to what is there
};

/// What a kernel sees of a value: rows at a fixed distance, nothing copied. A value without rows
/// is one row. Splitting or merging the batch only changes `data` and `rows`.
///
/// A value that holds the batch inside (`blocks` other than 1) is that many blocks of rows; each
/// block has `elements / blocks` of a row's elements. A micro-batch is some rows of every block.
struct View {
  std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t row_stride = 0;  ///< bytes from one row to the next
  std::int64_t elements = 0;    ///< per row
  DType dtype = DType::kF32;
  PartialSum sum = PartialSum::kStart;
  std::int64_t blocks = 1;
  std::int64_t block_stride = 0;  ///< bytes from one block to the next; zero where there is one

  /// Row i as a typed span. Throws where T has not the size of dtype, or where a row is not in one
  /// piece: the run then ends in R1.
  template <class T>
  [[nodiscard]] std::span<T> row(std::int64_t i) const {
    if (blocks != 1) {
      throw std::invalid_argument("View::row: the batch is inside: use View::row(i, block)");
    }
    return row<T>(i, 0);
  }

  /// The part of row i that is in one block.
  template <class T>
  [[nodiscard]] std::span<T> row(std::int64_t i, std::int64_t block) const {
    if (sizeof(T) != static_cast<std::size_t>(size_of(dtype))) {
      throw std::invalid_argument("View::row: the type's size is not that of " + to_string(dtype));
    }
    return {reinterpret_cast<T*>(data + block * block_stride + i * row_stride),
            static_cast<std::size_t>(elements / blocks)};
  }

  friend bool operator==(const View&, const View&) = default;
};

/// Rows [first, first + count) of the batch.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// Where a kernel gets memory for outputs whose size only it knows.
class UnplacedMemory {
 public:
  virtual ~UnplacedMemory() = default;
  /// Lets `view`, one of the call's own, show `elements` elements of fresh memory. Throws where
  /// there is no room.
  virtual void allocate(const View& view, std::int64_t elements) = 0;
};

/// A transfer's place among those of its process group: each rank issues them in the same order,
/// whichever lanes they are on, or they would wait for each other.
class Turn {
 public:
  virtual ~Turn() = default;
  /// Returns when all earlier ones are issued. Throws where the run ends before that.
  virtual void take() = 0;
  /// This one is issued: the next may follow while it is still on its way.
  virtual void pass() = 0;
};

/// What bodies say they did. One per lane, so that nobody else writes here meanwhile.
struct alignas(64) BodyCounts {
  std::int64_t copied_bytes = 0;
  std::int64_t allocations = 0;
  std::int64_t python_calls = 0;
};

/// One call of a kernel: the op's reads, then what it writes, each in the order declared.
struct KernelArgs {
  std::span<const View> views;
  std::size_t reads = 0;
  RowRange rows;
  UnplacedMemory* memory = nullptr;
  std::span<std::byte> scratch = {};  ///< as many bytes as the body asked for, 64-byte aligned
  std::span<const std::int64_t> symbols = {};  ///< of this batch, in the graph's order
  std::string_view name = {};                  ///< the step's label: "layers.3.attn.1"
  BodyCounts* counts = nullptr;                ///< the lane's, to add to
  /// How many cores the lane was granted, for bodies that use several threads; kAllCores where
  /// there is no other lane.
  int cores = kAllCores;
  /// What the caller of this run handed over for bodies to see (RunOptions::context); not ours.
  const void* context = nullptr;
  Turn* turn = nullptr;  ///< for bodies that pass it on (Body::passes_turn); null for all others

  static constexpr int kAllCores = -1;

  [[nodiscard]] const View& in(std::size_t i) const { return views[i]; }
  [[nodiscard]] const View& out(std::size_t i) const { return views[reads + i]; }
  /// Gives an unplaced output its memory; call it once per output before writing.
  const View& allocate(std::size_t i, std::int64_t elements) const {
    memory->allocate(views[reads + i], elements);
    return views[reads + i];
  }
};

/// Computes an op on views. May throw; may be called from any lane's thread, for different
/// micro-batches at the same time.
using Kernel = std::function<void(const KernelArgs&)>;

}  // namespace dynaflow

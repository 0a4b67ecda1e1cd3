#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynaflow/base/id.h"
#include "dynaflow/base/result.h"
#include "dynaflow/graph/body.h"
#include "dynaflow/graph/kernel.h"
#include "dynaflow/graph/type.h"

namespace dynaflow {

/// Who owns a storage's bytes.
enum class Memory : std::uint8_t {
  kArena,     ///< ours: scratch of one run, placed ahead
  kInput,     ///< the caller's, bound per run
  kOutput,    ///< the caller's, bound per run
  kUnplaced,  ///< the body's: its size is known only after the producer ran
};

/// Bytes that values view: `row_bytes` per batch row, or that many in all where there are no rows.
/// In memory they are `blocks` × rows × (row_bytes / blocks): with one block the batch is
/// outermost.
struct Storage {
  std::string name;
  Kind kind = Kind::kSplit;
  Memory memory = Memory::kArena;
  Extent row_bytes = 0;
  Extent blocks = 1;
  std::int64_t element_bytes = 1;  ///< no block ends within an element

  [[nodiscard]] bool has_rows() const { return kind == Kind::kSplit || kind == Kind::kCoupled; }
  /// Whether values see it as a whole only: there is no telling where a part of it would be.
  [[nodiscard]] bool is_indivisible() const { return !row_bytes.is_constant() || blocks != 1; }
};

/// Bytes [begin, end) of a storage's row: where two accesses may meet, whatever the sizes.
struct ByteRange {
  static constexpr std::int64_t kRowEnd = std::numeric_limits<std::int64_t>::max();

  std::int64_t begin = 0;
  std::int64_t end = kRowEnd;  ///< of a symbolic size: all there is

  [[nodiscard]] bool covers(const ByteRange& inner) const {
    return begin <= inner.begin && inner.end <= end;
  }
  [[nodiscard]] bool meets(const ByteRange& other) const {
    return begin < other.end && other.begin < end;
  }
};

/// A typed view of a storage: in every row, the bytes [offset, offset + type.bytes()).
struct Value {
  std::string name;
  StorageId storage;
  Type type;
  std::int64_t offset = 0;

  [[nodiscard]] ByteRange bytes() const {
    if (!type.elements.is_constant()) return {};
    return {offset, offset + type.elements.constant() * size_of(type.dtype)};
  }
};

/// What an op does with a value or a state.
enum class Access : std::uint8_t {
  kRead,
  kWrite,       ///< overwrites
  kUpdate,      ///< reads and writes in place
  kAccumulate,  ///< adds this micro-batch's part to a partial sum
};

struct Operand {
  ValueId value;
  Access access = Access::kRead;
};

/// Which rows of a value or state an access concerns.
enum class Rows : std::uint8_t {
  kOwn,  ///< those of the op's micro-batches: disjoint between micro-batches
  kAll,  ///< every row, whatever the micro-batch
};

/// An access to state that lives outside the graph's values (a KV cache, a random generator).
struct Effect {
  StateId state;
  Access access = Access::kUpdate;
  Rows rows = Rows::kOwn;
};

/// How often an op runs for one batch.
enum class RunsPer : std::uint8_t {
  kMicrobatch,  ///< once per micro-batch, or merged as the schedule likes
  kBatch,       ///< once, over all micro-batches: its rows depend on each other, or it has none
};

/// The unit a schedule orders.
struct Op {
  std::string name;
  std::vector<Operand> operands;  ///< reads first, then what it writes
  std::size_t reads = 0;          ///< how many of the operands are reads
  std::vector<Effect> effects;
  std::vector<std::string> tags;
  CostClass cost = CostClass::kCompute;
  std::string group;  ///< collectives: the process group whose order they keep
  RunsPer runs = RunsPer::kMicrobatch;
  std::string runs_reason;           ///< why it runs once per batch
  Kernel kernel;                     ///< what runs it: this,
  std::shared_ptr<const Body> body;  ///< or this

  [[nodiscard]] bool has_tag(std::string_view tag) const;
};

/// One access of an op as bytes: of a storage, or of a state (which has one byte per row).
/// Two touches conflict when they meet in resource, rows and bytes, and one of them writes.
struct Touch {
  std::uint32_t resource = 0;  ///< storages first, then states
  Access access = Access::kRead;
  Rows rows = Rows::kOwn;
  std::int64_t begin = 0;  ///< byte range within a row
  std::int64_t end = 0;

  [[nodiscard]] bool writes() const { return access != Access::kRead; }
  [[nodiscard]] bool meets(const Touch& other) const {
    return resource == other.resource && begin < other.end && other.begin < end;
  }
};

/// "`op` before this one": for the same micro-batch, or for every one.
struct Dependency {
  OpId op;
  Rows rows = Rows::kOwn;

  friend bool operator==(const Dependency&, const Dependency&) = default;
};

/// The logical model: ops in program order over values. Immutable; made by GraphBuilder, which
/// upholds every rule G1–G6. Program order means something only between accesses that conflict.
class Graph {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const Op> ops() const { return ops_; }
  [[nodiscard]] std::span<const Value> values() const { return values_; }
  [[nodiscard]] std::span<const Storage> storages() const { return storages_; }
  [[nodiscard]] std::span<const std::string> states() const { return states_; }
  /// The names of the sizes that each batch gives anew (Batch::symbols, in this order).
  [[nodiscard]] std::span<const std::string> symbols() const { return symbols_; }
  [[nodiscard]] std::span<const ValueId> inputs() const { return inputs_; }
  [[nodiscard]] std::span<const ValueId> outputs() const { return outputs_; }

  [[nodiscard]] const Op& op(OpId id) const { return ops_[id.index]; }
  [[nodiscard]] const Value& value(ValueId id) const { return values_[id.index]; }
  [[nodiscard]] const Storage& storage(StorageId id) const { return storages_[id.index]; }

  /// The name of a touch's resource.
  [[nodiscard]] const std::string& resource_name(std::uint32_t resource) const;
  [[nodiscard]] std::size_t resource_count() const { return storages_.size() + states_.size(); }
  [[nodiscard]] std::span<const Touch> touches(OpId id) const;
  /// Whether any op writes this resource; if none does, nothing orders its readers.
  [[nodiscard]] bool is_written(std::uint32_t resource) const { return written_[resource] != 0; }

  /// The ops that touch a resource, in program order.
  [[nodiscard]] std::span<const OpId> users(std::uint32_t resource) const;

  /// Ops that must be issued before `id`, by data alone, and the reverse.
  [[nodiscard]] std::span<const Dependency> predecessors(OpId id) const;
  [[nodiscard]] std::span<const Dependency> successors(OpId id) const;

 private:
  friend class GraphBuilder;

  /// Rows of variable length in one array.
  template <class T>
  struct Table {
    std::vector<std::uint32_t> starts{0};
    std::vector<T> items;

    void end_row() { starts.push_back(static_cast<std::uint32_t>(items.size())); }
    void add_row(const std::vector<T>& row) {
      items.insert(items.end(), row.begin(), row.end());
      end_row();
    }
    [[nodiscard]] std::span<const T> row(std::size_t i) const {
      return {items.data() + starts[i], items.data() + starts[i + 1]};
    }
  };

  std::string name_;
  std::vector<Op> ops_;
  std::vector<Value> values_;
  std::vector<Storage> storages_;
  std::vector<std::string> states_;
  std::vector<std::string> symbols_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<std::uint8_t> written_;
  Table<Touch> touches_;
  Table<OpId> users_;
  Table<Dependency> predecessors_;
  Table<Dependency> successors_;
};

/// One line per op: name, runs, reads, writes, tags.
[[nodiscard]] std::string to_string(const Graph& graph);

}  // namespace dynaflow

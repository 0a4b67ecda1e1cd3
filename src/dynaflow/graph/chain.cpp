#include "dynaflow/graph/chain.h"

#include <algorithm>

namespace dynaflow {
namespace {

bool is_internal(const Graph& graph, StorageId storage, std::span<const OpId> ops) {
  const Memory memory = graph.storage(storage).memory;
  if (memory == Memory::kInput || memory == Memory::kOutput) return false;
  return std::ranges::all_of(graph.users(storage.index),
                             [&](OpId user) { return std::ranges::find(ops, user) != ops.end(); });
}

bool covers(const Value& outer, const Value& inner) {
  return outer.storage == inner.storage && outer.bytes().covers(inner.bytes());
}

bool meets(const Value& a, const Value& b) {
  return a.storage == b.storage && a.bytes().meets(b.bytes());
}

/// Collects operands of the chain as seen from outside.
class Boundary {
 public:
  Boundary(const Graph& graph, std::span<const OpId> ops) : graph_(graph), ops_(ops) {}

  void add(const Operand& operand) {
    if (is_internal(graph_, graph_.value(operand.value).storage, ops_)) return;
    switch (operand.access) {
      case Access::kRead:
        if (!made_inside(operand.value)) read(operand.value);
        break;
      case Access::kUpdate:
        if (made_inside(operand.value)) {
          write(operand.value, Access::kWrite);
        } else {
          check_straddle(operand.value);
          write(operand.value, Access::kUpdate);
        }
        break;
      case Access::kWrite:
      case Access::kAccumulate:
        write(operand.value, operand.access);
        break;
    }
  }

  [[nodiscard]] ChainBoundary take() {
    ChainBoundary boundary{std::move(reads_), 0, straddled_};
    boundary.reads = boundary.operands.size();
    boundary.operands.insert(boundary.operands.end(), writes_.begin(), writes_.end());
    return boundary;
  }

 private:
  [[nodiscard]] bool made_inside(ValueId id) const {
    return std::ranges::any_of(writes_, [&](const Operand& made) {
      return covers(graph_.value(made.value), graph_.value(id));
    });
  }
  void check_straddle(ValueId id) {
    const auto met = [&](const Operand& made) {
      return meets(graph_.value(made.value), graph_.value(id));
    };
    if (std::ranges::any_of(writes_, met)) straddled_ = id;
  }
  void read(ValueId id) {
    check_straddle(id);
    const auto same = [&](const Operand& operand) { return operand.value == id; };
    if (std::ranges::none_of(reads_, same)) reads_.push_back({id, Access::kRead});
  }
  void write(ValueId id, Access access) {
    const auto same = [&](const Operand& operand) { return operand.value == id; };
    if (std::ranges::none_of(writes_, same)) writes_.push_back({id, access});
  }

  const Graph& graph_;
  std::span<const OpId> ops_;
  std::vector<Operand> reads_;
  std::vector<Operand> writes_;
  ValueId straddled_;
};

}  // namespace

ChainBoundary chain_boundary(const Graph& graph, std::span<const OpId> ops) {
  Boundary boundary(graph, ops);
  for (const OpId op : ops) {
    for (const Operand& operand : graph.op(op).operands) boundary.add(operand);
  }
  return boundary.take();
}

}  // namespace dynaflow

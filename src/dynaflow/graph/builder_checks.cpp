// The rules that need the whole graph: outputs, once-per-batch ops, partial sums, reads.
#include <algorithm>
#include <optional>

#include "dynaflow/graph/builder.h"

namespace dynaflow {
namespace {

/// Bytes of a storage's row, as sorted disjoint intervals.
class Coverage {
 public:
  void add(ByteRange range) {
    intervals_.push_back(range);
    std::ranges::sort(intervals_, {}, &ByteRange::begin);
    std::vector<ByteRange> merged;
    for (const ByteRange& next : intervals_) {
      if (!merged.empty() && next.begin <= merged.back().end) {
        merged.back().end = std::max(merged.back().end, next.end);
      } else {
        merged.push_back(next);
      }
    }
    intervals_ = std::move(merged);
  }
  [[nodiscard]] bool covers(ByteRange range) const {
    return std::ranges::any_of(intervals_,
                               [&](const ByteRange& part) { return part.covers(range); });
  }

 private:
  std::vector<ByteRange> intervals_;
};

bool writes_state(const Op& op, StateId state) {
  return std::any_of(op.effects.begin(), op.effects.end(), [&](const Effect& effect) {
    return effect.state == state && effect.access != Access::kRead;
  });
}

/// Why an op must run once over the whole batch, if it must.
std::optional<std::string> batch_reason(const Graph& graph, const Op& op, Coupling coupling) {
  if (coupling == Coupling::kCoupled) return "its rows depend on each other";
  bool touches_rows = false;
  for (const Operand& operand : op.operands) {
    const Value& value = graph.value(operand.value);
    const bool writes = operand.access != Access::kRead;
    switch (value.type.kind) {
      case Kind::kSplit:
        touches_rows = true;
        break;
      case Kind::kCoupled:
        return "'" + value.name + "' is coupled";
      case Kind::kPartial:
        if (operand.access != Access::kWrite) return "it needs the whole sum '" + value.name + "'";
        touches_rows = true;
        break;
      case Kind::kWhole:
        if (writes) return "it writes the whole value '" + value.name + "'";
        break;
    }
  }
  for (const Effect& effect : op.effects) {
    const std::string& state = graph.states()[effect.state.index];
    if (effect.rows == Rows::kOwn) {
      touches_rows = true;
    } else if (effect.access != Access::kRead) {
      return "it writes all rows of state '" + state + "'";
    } else if (writes_state(op, effect.state)) {
      return "it reads all rows of state '" + state + "' and writes some";
    }
  }
  if (!touches_rows) return "it touches nothing that carries the batch";
  return std::nullopt;
}

}  // namespace

void GraphBuilder::decide_runs() {
  for (std::size_t i = 0; i < graph_.ops_.size(); ++i) {
    Op& op = graph_.ops_[i];
    if (auto reason = batch_reason(graph_, op, coupling_[i])) {
      op.runs = RunsPer::kBatch;
      op.runs_reason = std::move(*reason);
    }
  }
  // An unplaced value is never sliced: if one of its ops runs once per batch, all of them do.
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<std::uint8_t> once(graph_.storages_.size(), 0);
    const auto unplaced = [&](const Operand& operand) {
      const Storage& storage = graph_.storage(graph_.value(operand.value).storage);
      return storage.memory == Memory::kUnplaced && storage.kind == Kind::kSplit;
    };
    for (const Op& op : graph_.ops_) {
      if (op.runs != RunsPer::kBatch) continue;
      for (const Operand& operand : op.operands) {
        if (unplaced(operand)) once[graph_.value(operand.value).storage.index] = 1;
      }
    }
    for (Op& op : graph_.ops_) {
      for (const Operand& operand : op.operands) {
        const Value& value = graph_.value(operand.value);
        if (op.runs == RunsPer::kBatch || once[value.storage.index] == 0) continue;
        op.runs = RunsPer::kBatch;
        op.runs_reason = "the unplaced value '" + value.name + "' is used by an op that does";
        changed = true;
      }
    }
  }
}

void GraphBuilder::check_partials() {
  std::vector<std::size_t> writer(graph_.storages_.size(), graph_.ops_.size());
  for (std::size_t i = 0; i < graph_.ops_.size(); ++i) {
    for (Operand& operand : graph_.ops_[i].operands) {
      const Value& value = graph_.value(operand.value);
      if (value.type.kind != Kind::kPartial || operand.access != Access::kWrite) continue;
      std::size_t& first = writer[value.storage.index];
      if (first != graph_.ops_.size()) {
        find(kKindMismatch,
             "partial sum '" + value.name + "' is written by '" + graph_.ops_[first].name +
                 "' and by '" + graph_.ops_[i].name + "'",
             op_where_[i], "let one op write it, and add the two sums in an op that reads both");
      }
      first = i;
      if (graph_.ops_[i].runs == RunsPer::kMicrobatch) operand.access = Access::kAccumulate;
    }
  }
}

void GraphBuilder::check_reads() {
  std::vector<Coverage> written(graph_.storages_.size());
  for (const ValueId id : graph_.inputs_) {
    written[graph_.value(id).storage.index].add(graph_.value(id).bytes());
  }
  for (std::size_t i = 0; i < graph_.ops_.size(); ++i) {
    const Op& op = graph_.ops_[i];
    for (const Operand& operand : op.operands) {
      const Value& value = graph_.value(operand.value);
      const bool reads = operand.access == Access::kRead || operand.access == Access::kUpdate;
      if (reads && !written[value.storage.index].covers(value.bytes())) {
        find(kReadBeforeWrite,
             "op '" + op.name + "' reads '" + value.name + "', which nothing has written yet",
             op_where_[i],
             "declare ops in program order, and make the value an input or an op's write");
      }
    }
    for (const Operand& operand : op.operands) {
      const Value& value = graph_.value(operand.value);
      if (operand.access != Access::kRead) written[value.storage.index].add(value.bytes());
    }
  }
  for (const auto& [id, where] : outputs_) {
    const Value& value = graph_.value(id);
    if (written[value.storage.index].covers(value.bytes())) continue;
    find(kBadOutput, "output '" + value.name + "' is never written in full", where,
         "let ops write all of its elements");
  }
}

void GraphBuilder::check_outputs() {
  std::vector<std::uint8_t> written(graph_.storages_.size(), 0);
  for (const Op& op : graph_.ops_) {
    for (const Operand& operand : op.operands) {
      if (operand.access != Access::kRead) written[graph_.value(operand.value).storage.index] = 1;
    }
  }
  for (const auto& [id, where] : outputs_) {
    if (!known(id)) {
      find(kUnknownOperand, "an output is not a value of this graph", where,
           "pass an id this builder returned");
      continue;
    }
    const Value& value = graph_.value(id);
    Storage& storage = graph_.storages_[value.storage.index];
    if (storage.memory == Memory::kArena && written[value.storage.index] != 0) {
      storage.memory = Memory::kOutput;
      graph_.outputs_.push_back(id);
      continue;
    }
    const std::string why = storage.memory == Memory::kInput      ? "is an input"
                            : storage.memory == Memory::kOutput   ? "shares bytes with an output"
                            : storage.memory == Memory::kUnplaced ? "is unplaced"
                                                                  : "is written by no op";
    find(kBadOutput, "output '" + value.name + "' " + why, where,
         "an output has bytes of its own that an op writes; the caller already holds its inputs");
  }
}

}  // namespace dynaflow

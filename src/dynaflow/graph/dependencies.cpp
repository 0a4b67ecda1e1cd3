// Order comes from data: which ops must precede which, from the bytes and states they touch.
#include <algorithm>
#include <utility>

#include "dynaflow/graph/builder.h"

namespace dynaflow {
namespace {

struct Record {
  OpId op;
  Touch touch;
};

/// The accesses of one resource that a later access may still have to follow.
struct History {
  std::vector<Record> writes;
  std::vector<Record> reads;
};

bool covers(const Touch& outer, const Touch& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end && outer.access != Access::kRead;
}

/// Own rows only where both ops run per micro-batch; a once-per-batch op meets every micro-batch.
Rows reach(const Graph& graph, const Record& earlier, OpId op, const Touch& touch) {
  const bool own = graph.op(earlier.op).runs == RunsPer::kMicrobatch &&
                   graph.op(op).runs == RunsPer::kMicrobatch && earlier.touch.rows == Rows::kOwn &&
                   touch.rows == Rows::kOwn;
  return own ? Rows::kOwn : Rows::kAll;
}

void follow(const Graph& graph, const std::vector<Record>& earlier, OpId op, const Touch& touch,
            std::vector<Dependency>& out) {
  for (const Record& record : earlier) {
    if (record.op != op && record.touch.meets(touch)) {
      out.push_back({record.op, reach(graph, record, op, touch)});
    }
  }
}

void remember(History& history, OpId op, const Touch& touch) {
  if (!touch.writes()) {
    history.reads.push_back({op, touch});
    return;
  }
  const auto hidden = [&](const Record& record) {
    return record.op != op && covers(touch, record.touch);
  };
  std::erase_if(history.reads, hidden);
  std::erase_if(history.writes, hidden);
  history.writes.push_back({op, touch});
}

/// One entry per op; where two accesses reach differently, the wider reach holds.
void keep_distinct(std::vector<Dependency>& list) {
  std::sort(list.begin(), list.end(), [](const Dependency& a, const Dependency& b) {
    return std::pair(a.op, b.rows) < std::pair(b.op, a.rows);
  });
  list.erase(std::unique(list.begin(), list.end(),
                         [](const Dependency& a, const Dependency& b) { return a.op == b.op; }),
             list.end());
}

}  // namespace

void GraphBuilder::derive_touches() {
  graph_.written_.assign(graph_.resource_count(), 0);
  for (const Op& op : graph_.ops_) {
    for (const Operand& operand : op.operands) {
      const Value& value = graph_.value(operand.value);
      const Rows rows =
          graph_.storage(value.storage).kind == Kind::kSplit ? Rows::kOwn : Rows::kAll;
      const ByteRange bytes = value.bytes();
      graph_.touches_.items.push_back(
          {value.storage.index, operand.access, rows, bytes.begin, bytes.end});
    }
    for (const Effect& effect : op.effects) {
      const auto resource =
          static_cast<std::uint32_t>(graph_.storages_.size()) + effect.state.index;
      graph_.touches_.items.push_back({resource, effect.access, effect.rows, 0, 1});
    }
    graph_.touches_.end_row();
  }
  std::vector<std::vector<OpId>> users(graph_.resource_count());
  for (std::size_t i = 0; i < graph_.ops_.size(); ++i) {
    const auto op = id_at<OpId>(i);
    for (const Touch& touch : graph_.touches(op)) {
      if (touch.writes()) graph_.written_[touch.resource] = 1;
      std::vector<OpId>& row = users[touch.resource];
      if (row.empty() || row.back() != op) row.push_back(op);
    }
  }
  for (const std::vector<OpId>& row : users) graph_.users_.add_row(row);
}

void GraphBuilder::derive_dependencies() {
  std::vector<History> histories(graph_.resource_count());
  std::vector<std::vector<Dependency>> successors(graph_.ops_.size());
  for (std::size_t i = 0; i < graph_.ops_.size(); ++i) {
    const auto op = id_at<OpId>(i);
    std::vector<Dependency> found;
    for (const Touch& touch : graph_.touches(op)) {
      if (!graph_.is_written(touch.resource)) continue;
      follow(graph_, histories[touch.resource].writes, op, touch, found);
      if (touch.writes()) follow(graph_, histories[touch.resource].reads, op, touch, found);
    }
    for (const Touch& touch : graph_.touches(op)) {
      if (graph_.is_written(touch.resource)) remember(histories[touch.resource], op, touch);
    }
    keep_distinct(found);
    for (const Dependency& before : found) {
      successors[before.op.index].push_back({op, before.rows});
    }
    graph_.predecessors_.add_row(found);
  }
  for (const std::vector<Dependency>& row : successors) graph_.successors_.add_row(row);
}

}  // namespace dynaflow

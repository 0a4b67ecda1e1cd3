#include "support/random_strategy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "dynaflow/base/check.h"
#include "dynaflow/graph/chain.h"
#include "support/memory_image.h"
#include "support/mixing_kernel.h"

namespace dynaflow::testing {
namespace {

bool touches_unplaced(const Graph& graph, OpId op) {
  return std::ranges::any_of(graph.op(op).operands, [&](const Operand& operand) {
    return graph.storage(graph.value(operand.value).storage).memory == Memory::kUnplaced;
  });
}

class Recorder {
 public:
  Recorder(const Graph& graph, std::uint64_t seed, const RandomStrategyOptions& options,
           ScheduleContext& ctx)
      : graph_(graph), random_(seed), options_(options), ctx_(ctx) {
    for (std::int64_t i = 0, n = pick(random_, 1, options.max_lanes); i < n; ++i) {
      lanes_.push_back(ctx.lane("lane" + std::to_string(i)));
    }
  }

  void run() {
    while (ctx_.unfinished()) {
      const auto ready = ctx_.get_ready_ops();
      auto ops = merge(ready, ready[index_in(ready)]);
      ExecuteOptions options{.lane = lanes_[index_in(lanes_)]};
      if (chance(random_, options_.replacements)) replace(ops, options);
      if (chance(random_, options_.extra_order) && !issued_.empty()) {
        options.after.push_back(issued_[index_in(issued_)]);
      }
      issued_.push_back(ctx_.execute(ops, std::move(options)));
    }
  }

 private:
  template <class T>
  std::size_t index_in(const std::vector<T>& items) {
    return static_cast<std::size_t>(pick(random_, 0, static_cast<std::int64_t>(items.size()) - 1));
  }

  /// The op, perhaps together with the same op of the next micro-batches.
  std::vector<ReadyOp> merge(const std::vector<ReadyOp>& ready, const ReadyOp& first) {
    std::vector<ReadyOp> ops{first};
    if (touches_unplaced(graph_, first.id())) return ops;
    while (chance(random_, options_.merges)) {
      const std::uint32_t next = ops.back().microbatches().last;
      const auto at = std::ranges::find_if(ready, [&](const ReadyOp& op) {
        return op.id() == first.id() && op.microbatches().first == next;
      });
      if (at == ready.end()) break;
      ops.push_back(*at);
    }
    return ops;
  }

  /// Extends the op to a chain and gives it a fused kernel.
  void replace(std::vector<ReadyOp>& ops, ExecuteOptions& options) {
    const std::size_t width = ops.size();
    if (touches_unplaced(graph_, ops.front().id())) return;
    std::vector<OpId> chain{ops.front().id()};
    while (chance(random_, 0.6)) {
      std::map<OpId, std::vector<ReadyOp>> next;
      for (const ReadyOp& op : ctx_.get_ready_after(ops)) next[op.id()].push_back(op);
      std::erase_if(next, [&](const auto& entry) {
        return !same_microbatches(entry.second, ops, width) || straddles(chain, entry.first) ||
               touches_unplaced(graph_, entry.first) || !graph_.op(entry.first).group.empty();
      });
      if (next.empty()) break;
      const auto at = std::next(next.begin(), pick(random_, 0, std::int64_t(next.size()) - 1));
      chain.push_back(at->first);
      ops.insert(ops.end(), at->second.begin(), at->second.end());
    }
    std::ranges::sort(chain);
    options.replace_func = fuse(graph_, chain);
  }

  [[nodiscard]] bool straddles(std::vector<OpId> chain, OpId next) const {
    chain.push_back(next);
    std::ranges::sort(chain);
    return chain_boundary(graph_, chain).straddled.valid();
  }

  static bool same_microbatches(const std::vector<ReadyOp>& a, const std::vector<ReadyOp>& b,
                                std::size_t width) {
    std::vector<Microbatch> left;
    std::vector<Microbatch> right;
    for (const ReadyOp& op : a) {
      for (const Microbatch mb : op.microbatches()) left.push_back(mb);
    }
    for (std::size_t i = 0; i < width; ++i) {
      for (const Microbatch mb : b[i].microbatches()) right.push_back(mb);
    }
    std::ranges::sort(left);
    return left == right;
  }

  const Graph& graph_;
  Random random_;
  const RandomStrategyOptions& options_;
  ScheduleContext& ctx_;
  std::vector<Lane> lanes_;
  std::vector<IssuedStep> issued_;
};

/// The memory of one fused call: the chain's operands as given, its insides on scratch.
class Insides {
 public:
  Insides(const Graph& graph, const ChainBoundary& boundary, const KernelArgs& args,
          std::int64_t batch_rows)
      : graph_(graph), boundary_(boundary), args_(args), batch_rows_(batch_rows) {}

  View view(const Operand& operand) {
    const Value& value = graph_.value(operand.value);
    if (const auto at = find(operand)) {
      const Value& outer = graph_.value(boundary_.operands[*at].value);
      View view = args_.views[*at];
      view.data += value.offset - outer.offset;
      view.elements = value.type.elements.evaluate(args_.symbols);
      if (operand.access == Access::kRead) {
        view.sum = PartialSum::kStart;
      } else {
        made_.insert(operand.value);
      }
      return view;
    }
    const Storage& storage = graph_.storage(value.storage);
    const std::int64_t rows = storage.kind == Kind::kSplit     ? args_.rows.count
                              : storage.kind == Kind::kCoupled ? batch_rows_
                                                               : 1;
    auto& words = scratch_[value.storage];
    const std::int64_t row_bytes = storage.row_bytes.evaluate(args_.symbols);
    words.resize(static_cast<std::size_t>(rows * row_bytes / 8 + 1));  // never null
    return view_of_rows(graph_, value, reinterpret_cast<std::byte*>(words.data()), rows,
                        args_.symbols);
  }

 private:
  /// The chain's operand that holds this value: what the chain has written, else what it was given,
  /// by the value's own name where there is one.
  [[nodiscard]] std::optional<std::size_t> find(const Operand& operand) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < boundary_.operands.size(); ++i) {
      const ValueId id = boundary_.operands[i].value;
      const bool out = i >= boundary_.reads;
      const bool usable = operand.access == Access::kRead ? !out || made_.contains(id) : out;
      if (!usable || !covers(graph_.value(id), graph_.value(operand.value))) continue;
      if (id == operand.value || !found || boundary_.operands[*found].value != operand.value) {
        found = i;
      }
    }
    return found;
  }
  static bool covers(const Value& outer, const Value& inner) {
    return outer.storage == inner.storage && outer.bytes().covers(inner.bytes());
  }

  const Graph& graph_;
  const ChainBoundary& boundary_;
  const KernelArgs& args_;
  std::int64_t batch_rows_;
  std::map<StorageId, std::vector<std::uint64_t>> scratch_;
  std::set<ValueId> made_;
};

}  // namespace

Split RandomStrategy::split(const Batch& batch) const {
  Random random(seed_ ^ 0x5eed);
  std::int64_t parts = pick(random, 1, options_.max_microbatches);
  if (!options_.allow_empty) parts = std::max<std::int64_t>(1, std::min(parts, batch.rows));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), options_.allow_empty ? 0 : 1);
  for (std::int64_t left = batch.rows - (options_.allow_empty ? 0 : parts); left > 0; --left) {
    ++sizes[static_cast<std::size_t>(pick(random, 0, parts - 1))];
  }
  return batch.by_sizes(std::move(sizes));
}

void RandomStrategy::schedule(ScheduleContext& ctx) const {
  Recorder(graph_, seed_, options_, ctx).run();
}

Replacement fuse(const Graph& graph, std::vector<OpId> ops) {
  const ChainBoundary boundary = chain_boundary(graph, ops);
  Replacement fused{.name = "fused"};
  for (std::size_t i = 0; i < boundary.operands.size(); ++i) {
    const Type& type = graph.value(boundary.operands[i].value).type;
    (i < boundary.reads ? fused.inputs : fused.outputs).push_back(type);
  }
  fused.kernel = [&graph, ops = std::move(ops), boundary](const KernelArgs& args) {
    Insides insides(graph, boundary, args, args.rows.count);
    for (const OpId op : ops) {
      std::vector<View> views;
      for (const Operand& operand : graph.op(op).operands) views.push_back(insides.view(operand));
      run_op(graph.op(op), {.views = views,
                            .reads = graph.op(op).reads,
                            .rows = args.rows,
                            .memory = args.memory,
                            .symbols = args.symbols});
    }
  };
  return fused;
}

}  // namespace dynaflow::testing

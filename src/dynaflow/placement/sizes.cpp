#include "dynaflow/placement/sizes.h"

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <utility>

namespace dynaflow {
namespace {

/// Per row and per scratch. Keeps every byte count that follows from it far from overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;
constexpr double kMostBytesInAll = 4e18;

Unexpected refused(Rule rule, std::string message, std::string fix) {
  return Unexpected(Error(Diagnostic{rule, std::move(message), "placement", std::move(fix)}));
}

Result<void> check_symbols(const Graph& graph, std::span<const std::int64_t> symbols) {
  const auto names = graph.symbols();
  if (symbols.size() != names.size()) {
    return refused(kBadBinding,
                   "the graph has " + std::to_string(names.size()) +
                       " symbols, but the batch gives " + std::to_string(symbols.size()) +
                       " values",
                   "give a value for each of Graph::symbols(), in that order: Batch::symbols");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (symbols[i] >= 0) continue;
    return refused(kBadBinding, "symbol '" + names[i] + "' is " + std::to_string(symbols[i]),
                   "a size is not negative");
  }
  return {};
}

Result<void> set_storages(const Graph& graph, Placement& placement) {
  placement.storages.resize(graph.storages().size());
  for (std::size_t i = 0; i < placement.storages.size(); ++i) {
    const Storage& storage = graph.storages()[i];
    StorageSize& size = placement.storages[i];
    size = {storage.row_bytes.evaluate(placement.symbols),
            storage.blocks.evaluate(placement.symbols)};
    if (size.row_bytes >= 0 && size.row_bytes <= kMostBytes && size.blocks >= 0 &&
        size.row_bytes / storage.element_bytes % std::max<std::int64_t>(size.blocks, 1) == 0 &&
        (size.blocks > 0 || size.row_bytes == 0)) {
      continue;
    }
    return refused(kBadBinding,
                   "'" + storage.name + "' would have " + std::to_string(size.row_bytes) +
                       " bytes a row in " + std::to_string(size.blocks) +
                       " blocks: " + to_string(storage.row_bytes, graph.symbols()),
                   "give symbols for which every size is from 0 to 2^44 and its blocks divide it");
  }
  return {};
}

/// The rows of a storage that a range of micro-batches has; one row where there are no rows.
RowRange rows_of(const Storage& storage, const Placement& placement, MicrobatchRange mbs) {
  switch (storage.kind) {
    case Kind::kSplit:
      return placement.rows(mbs);
    case Kind::kCoupled:
      return {0, placement.row_starts.back()};
    case Kind::kWhole:
    case Kind::kPartial:
      break;
  }
  return {0, 1};
}

/// Of the buffers of storages; false where all together come near to overflow.
bool set_buffers(const Graph& graph, const Buffers& buffers, Placement& placement) {
  const double rows = static_cast<double>(placement.row_starts.back()) + 1;
  double bytes = 0;
  placement.sizes.assign(buffers.items.size(), 0);
  for (std::size_t i = 0; i < buffers.items.size(); ++i) {
    const Buffer& buffer = buffers.items[i];
    bytes += static_cast<double>(Placement::kAlignment);
    if (buffer.is_scratch()) continue;
    const StorageSize& size = placement.storages[buffer.storage.index];
    bytes += rows * static_cast<double>(size.row_bytes);
    if (bytes >= kMostBytesInAll) return false;
    const Storage& storage = graph.storage(buffer.storage);
    if (storage.memory == Memory::kUnplaced) continue;
    placement.sizes[i] = rows_of(storage, placement, buffer.microbatches).count * size.row_bytes;
  }
  return bytes < kMostBytesInAll;
}

void set_views(const Graph& graph, const Plan& plan, const Buffers& buffers, Placement& placement) {
  placement.views.resize(plan.step_operands.size());
  for (const Step& step : plan.steps) {
    for (std::uint32_t i = step.operands.first; i < step.operands.first + step.operands.count;
         ++i) {
      const Value& value = graph.value(plan.step_operands[i].value);
      const Storage& storage = graph.storage(value.storage);
      const StorageSize& size = placement.storages[value.storage.index];
      const RowRange rows = rows_of(storage, placement, step.microbatches);
      const Buffer& buffer = buffers.items[buffers.of_operand[i].index];
      const RowRange held = rows_of(storage, placement, buffer.microbatches);
      placement.views[i] = {(rows.first - held.first) * size.row_stride() + value.offset,
                            rows.count, size.blocks == 1 ? 0 : held.count * size.row_stride()};
    }
  }
}

std::size_t mixed(std::size_t digest, std::int64_t number) {
  return (digest ^ static_cast<std::size_t>(number)) * 0x9e3779b97f4a7c15ULL;
}

/// Asks the bodies, each once for equal views.
class ScratchSizes {
 public:
  ScratchSizes(const Graph& graph, const Plan& plan, const Buffers& buffers, Placement& placement)
      : graph_(graph), plan_(plan), buffers_(buffers), placement_(placement) {}

  Result<void> run() {
    placement_.alike.assign(plan_.steps.size(), 0);
    if (std::ranges::none_of(buffers_.scratch, &BufferId::valid)) return {};
    views_.reserve(plan_.step_operands.size());
    for (std::size_t i = 0; i < plan_.step_operands.size(); ++i) {
      views_.push_back(layout(graph_, plan_, placement_, i));
    }
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      if (!buffers_.scratch[i].valid()) continue;
      placement_.alike[i] = first_alike(i);
      if (placement_.alike[i] == i) {
        if (auto asked = ask(i); !asked) return asked;
      } else {
        size_of_scratch(i) = size_of_scratch(placement_.alike[i]);
      }
    }
    const double most = std::ranges::max(buffers_.items.size(), std::size_t{1});
    return most * largest_ < kMostBytesInAll ? Result<void>{} : too_many();
  }

  static Result<void> too_many() {
    return refused(kOutOfMemory, "these sizes need more bytes than can be counted",
                   "use a batch that fits into memory");
  }

 private:
  [[nodiscard]] std::span<const View> views_of(std::uint32_t step) const {
    const Slice operands = plan_.steps[step].operands;
    return std::span(views_).subspan(operands.first, operands.count);
  }
  [[nodiscard]] const Body* body(std::uint32_t step) const {
    return body_of(graph_, plan_, plan_.steps[step]);
  }
  [[nodiscard]] std::int64_t rows(std::uint32_t step) const {
    return placement_.rows(plan_.steps[step].microbatches).count;
  }
  std::int64_t& size_of_scratch(std::uint32_t step) {
    return placement_.sizes[buffers_.scratch[step].index];
  }

  std::uint32_t first_alike(std::uint32_t step) {
    std::size_t digest = std::hash<const Body*>{}(body(step));
    digest = mixed(digest, rows(step));
    for (const View& view : views_of(step)) {
      digest = mixed(mixed(mixed(digest, view.rows), view.elements), view.block_stride);
    }
    const auto [from, to] = known_.equal_range(digest);
    for (auto at = from; at != to; ++at) {
      if (body(at->second) == body(step) && rows(at->second) == rows(step) &&
          plan_.steps[at->second].reads == plan_.steps[step].reads &&
          std::ranges::equal(views_of(at->second), views_of(step))) {
        return at->second;
      }
    }
    known_.emplace(digest, step);
    return step;
  }

  Result<void> ask(std::uint32_t step) {
    const auto failed = [&](const std::string& what) -> Result<void> {
      return Unexpected(Error(
          Diagnostic{kBodyFailed, describe(graph_, plan_, plan_.steps[step]) + ": " + what,
                     "scratch_bytes", "the body refuses these sizes: its own message says why"}));
    };
    try {
      const BindArgs args{
          views_of(step), plan_.steps[step].reads, {0, rows(step)}, placement_.symbols};
      const std::int64_t bytes = body(step)->scratch_bytes(args);
      if (bytes < 0 || bytes > kMostBytes) {
        return failed("asks for " + std::to_string(bytes) + " bytes of scratch");
      }
      size_of_scratch(step) = bytes;
      largest_ = std::max(largest_, static_cast<double>(bytes));
    } catch (const std::exception& failure) {
      return failed(failure.what());
    } catch (...) {
      return failed("an exception that is no std::exception");
    }
    return {};
  }

  const Graph& graph_;
  const Plan& plan_;
  const Buffers& buffers_;
  Placement& placement_;
  std::vector<View> views_;                                    ///< parallel to step_operands
  std::unordered_multimap<std::size_t, std::uint32_t> known_;  ///< digest -> first step like it
  double largest_ = 0;
};

}  // namespace

Result<void> set_sizes(const Graph& graph, const Plan& plan, const Buffers& buffers,
                       const Split& split, std::span<const std::int64_t> symbols,
                       Placement& placement) {
  if (auto well = check_symbols(graph, symbols); !well) return well;
  placement.symbols.assign(symbols.begin(), symbols.end());
  placement.row_starts.assign(1, 0);
  for (const std::int64_t size : split.sizes) {
    std::int64_t next = 0;
    if (__builtin_add_overflow(placement.row_starts.back(), size, &next)) {
      return ScratchSizes::too_many();
    }
    placement.row_starts.push_back(next);
  }
  if (auto well = set_storages(graph, placement); !well) return well;
  if (!set_buffers(graph, buffers, placement)) return ScratchSizes::too_many();
  set_views(graph, plan, buffers, placement);
  return ScratchSizes(graph, plan, buffers, placement).run();
}

View layout(const Graph& graph, const Plan& plan, const Placement& placement, std::size_t operand) {
  const Operand& of = plan.step_operands[operand];
  const Value& value = graph.value(of.value);
  View view;
  view.dtype = value.type.dtype;
  view.sum = of.access == Access::kAccumulate ? PartialSum::kAdd : PartialSum::kStart;
  if (graph.storage(value.storage).memory == Memory::kUnplaced) return view;
  const StorageSize& size = placement.storages[value.storage.index];
  const PlacedView& placed = placement.views[operand];
  view.rows = placed.rows;
  view.row_stride = size.row_stride();
  view.elements = value.type.elements.evaluate(placement.symbols);
  view.blocks = size.blocks;
  view.block_stride = placed.block_stride;
  return view;
}

}  // namespace dynaflow

#include "support/memory_image.h"

#include <deque>

#include "support/mixing_kernel.h"

namespace dynaflow::testing {
namespace {

std::size_t words_of(const RandomGraph& random, const Storage& storage, std::int64_t rows) {
  const std::int64_t words = storage.row_bytes.evaluate(random.symbols) / 8;
  return static_cast<std::size_t>(words * (storage.has_rows() ? rows : 1));
}

bool callers(const Storage& storage) {
  return storage.memory == Memory::kInput || storage.memory == Memory::kOutput;
}

/// Memory for unplaced values that lives as long as the reference run.
class Heap final : public UnplacedMemory {
 public:
  void allocate(const View& shown, std::int64_t elements) override {
    View& view = const_cast<View&>(shown);  // NOLINT: one of our own
    auto& words = blocks_.emplace_back(static_cast<std::size_t>(elements));
    view.data = reinterpret_cast<std::byte*>(words.data());
    view.rows = 1;
    view.elements = elements;
  }

 private:
  std::deque<std::vector<std::uint64_t>> blocks_;
};

}  // namespace

View view_of_rows(const Graph& graph, const Value& value, std::byte* memory, std::int64_t rows,
                  std::span<const std::int64_t> symbols) {
  const Storage& storage = graph.storage(value.storage);
  View view{memory + value.offset, rows, storage.row_bytes.evaluate(symbols),
            value.type.elements.evaluate(symbols), value.type.dtype};
  view.blocks = storage.blocks.evaluate(symbols);
  if (view.blocks == 1) return view;
  view.row_stride = view.blocks == 0 ? 0 : view.row_stride / view.blocks;
  view.block_stride = rows * view.row_stride;
  return view;
}

MemoryImage::MemoryImage(const RandomGraph& random, std::int64_t rows, std::uint64_t seed) {
  for (const Storage& storage : random.graph.storages()) {
    auto& image = words.emplace_back();
    if (!callers(storage)) continue;
    image.resize(words_of(random, storage, rows));
    for (std::uint64_t& word : image) word = seed = mix(seed, 19);
  }
}

std::vector<Binding> MemoryImage::bindings(const Graph& graph) {
  std::vector<Binding> all;
  for (const auto ids : {graph.inputs(), graph.outputs()}) {
    for (const ValueId id : ids) all.push_back(bind(id, words[graph.value(id).storage.index]));
  }
  return all;
}

Outcome reference_run(const RandomGraph& random, std::int64_t rows, std::uint64_t seed) {
  const Graph& graph = random.graph;
  Outcome outcome{MemoryImage(random, rows, seed),
                  World(graph.states().size(), graph.ops().size(), rows)};
  random.world->world = &outcome.world;
  std::vector<std::vector<std::uint64_t>> internal(graph.storages().size());
  std::vector<View> unplaced(graph.storages().size());
  Heap heap;
  const auto view_of = [&](const Operand& operand) {
    const Value& value = graph.value(operand.value);
    const Storage& storage = graph.storage(value.storage);
    if (storage.memory == Memory::kUnplaced) return unplaced[value.storage.index];
    auto& words = callers(storage) ? outcome.memory.words[value.storage.index]
                                   : internal[value.storage.index];
    words.reserve(words_of(random, storage, rows + 1) + 1);  // never null
    words.resize(words_of(random, storage, rows));
    return view_of_rows(graph, value, reinterpret_cast<std::byte*>(words.data()),
                        storage.has_rows() ? rows : 1, random.symbols);
  };
  for (const Storage& storage : graph.storages()) {
    unplaced[static_cast<std::size_t>(&storage - graph.storages().data())].dtype = DType::kI64;
  }
  for (const Op& op : graph.ops()) {
    std::vector<View> views;
    for (const Operand& operand : op.operands) views.push_back(view_of(operand));
    run_op(op, {.views = views,
                .reads = op.reads,
                .rows = {0, rows},
                .memory = &heap,
                .symbols = random.symbols});
    for (std::size_t i = op.reads; i < op.operands.size(); ++i) {
      unplaced[graph.value(op.operands[i].value).storage.index] = views[i];
    }
  }
  return outcome;
}

}  // namespace dynaflow::testing

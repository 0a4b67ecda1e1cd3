#include "support/memory_image.h"

#include <deque>

namespace dynaflow::testing {
namespace {

std::size_t words_of(const Storage& storage, std::int64_t rows) {
  return static_cast<std::size_t>(storage.row_bytes / 8 * (storage.has_rows() ? rows : 1));
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

MemoryImage::MemoryImage(const Graph& graph, std::int64_t rows, std::uint64_t seed) {
  for (const Storage& storage : graph.storages()) {
    auto& image = words.emplace_back();
    if (!callers(storage)) continue;
    image.resize(words_of(storage, rows));
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
  Outcome outcome{MemoryImage(graph, rows, seed),
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
    words.reserve(words_of(storage, rows + 1));  // never null
    words.resize(words_of(storage, rows));
    return View{reinterpret_cast<std::byte*>(words.data()) + value.offset,
                storage.has_rows() ? rows : 1, storage.row_bytes, value.type.elements,
                value.type.dtype};
  };
  for (const Storage& storage : graph.storages()) {
    unplaced[static_cast<std::size_t>(&storage - graph.storages().data())].dtype = DType::kI64;
  }
  for (const Op& op : graph.ops()) {
    std::vector<View> views;
    for (const Operand& operand : op.operands) views.push_back(view_of(operand));
    op.kernel({views, op.reads, {0, rows}, &heap});
    for (std::size_t i = op.reads; i < op.operands.size(); ++i) {
      unplaced[graph.value(op.operands[i].value).storage.index] = views[i];
    }
  }
  return outcome;
}

}  // namespace dynaflow::testing

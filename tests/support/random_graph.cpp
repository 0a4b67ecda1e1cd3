#include "support/random_graph.h"

#include <algorithm>
#include <string>

#include "dynaflow/base/check.h"
#include "dynaflow/graph/builder.h"
#include "support/mixing_kernel.h"

namespace dynaflow::testing {

World::World(std::size_t state_count, std::size_t op_count, std::int64_t rows)
    : states(state_count, std::vector<std::uint64_t>(static_cast<std::size_t>(rows))),
      trace(op_count,
            std::vector<std::uint64_t>(static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)))) {
  std::uint64_t digest = 13;
  for (auto& state : states) {
    for (std::uint64_t& word : state) word = digest = mix(digest, 17);
  }
}

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

bool chance(Random& random, double probability) {
  return std::bernoulli_distribution(probability)(random);
}

namespace {

/// A value the generator may use, with what it must know to use it legally.
struct Known {
  ValueId id;
  Type type;
  bool input = false;
  bool unplaced = false;
  bool fresh = false;  ///< written, but read by nobody since
  bool written = false;
  ValueId base = {};  ///< of a view
};

class Generator {
 public:
  explicit Generator(Random& random) : random_(random), world_(std::make_shared<WorldPointer>()) {}

  RandomGraph run(int ops) {
    for (std::int64_t i = pick(random_, 0, 2); i > 0; --i) {
      symbols_.push_back(builder_.symbol("n" + std::to_string(i)));
    }
    for (std::int64_t i = pick(random_, 1, 3); i > 0; --i) add_input(Kind::kSplit);
    for (std::int64_t i = pick(random_, 0, 2); i > 0; --i) add_input(Kind::kWhole);
    for (std::int64_t i = pick(random_, 0, 2); i > 0; --i) {
      states_.push_back(builder_.state("s" + std::to_string(i)));
    }
    while (count_ < static_cast<std::size_t>(ops)) add_something();
    for (const Known& value : values_) {
      if (!value.input && !value.unplaced && !value.base.valid() && value.fresh)
        builder_.output(value.id);
    }
    read_leftovers();
    auto graph = builder_.build();
    if (!graph) {  // a mistake of this generator
      std::fputs(to_string(graph.error()).c_str(), stderr);
      DYNAFLOW_CHECK(false);
    }
    std::vector<std::int64_t> symbols = some_symbols(*graph, random_);
    return {std::move(*graph), world_, std::move(symbols)};
  }

 private:
  /// A number, or a symbol with something about it.
  Extent some_extent() {
    if (symbols_.empty() || chance(random_, 0.6)) return pick(random_, 1, 3);
    const auto symbol = [&] {
      return Extent(symbols_[static_cast<std::size_t>(
          pick(random_, 0, static_cast<std::int64_t>(symbols_.size()) - 1))]);
    };
    switch (pick(random_, 0, 3)) {
      case 0:
        return symbol() + 1;
      case 1:
        return symbol() * 2;
      case 2:
        return symbol() * symbol();
      default:
        return symbol();
    }
  }

  ValueSpec some_value(std::string name, Kind kind) {
    ValueSpec spec{std::move(name), {kind, DType::kI64, some_extent()}};
    if (spec.type.has_rows() && chance(random_, 0.3)) {
      spec.blocks = some_extent();
      spec.type.elements *= spec.blocks;
    }
    return spec;
  }

  void add_input(Kind kind) {
    const std::string name = (kind == Kind::kSplit ? "x" : "w") + std::to_string(values_.size());
    const ValueSpec spec = some_value(name, kind);
    values_.push_back({builder_.input(spec), spec.type, true});
  }

  std::size_t add_value(Kind kind, bool unplaced = false) {
    ValueSpec spec = some_value("v" + std::to_string(values_.size()), kind);
    if (unplaced) spec = {spec.name, {kind, DType::kI64, 1}, ValueSpec::Size::kUnplaced};
    const ValueId id = builder_.value(spec);
    values_.push_back({id, spec.type, false, unplaced});
    return values_.size() - 1;
  }

  /// Some values whose kind is among `kinds`, at most `most`.
  std::vector<std::size_t> some(std::initializer_list<Kind> kinds, std::size_t most) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool readable = values_[i].input || values_[i].written;
      const bool wanted = std::ranges::find(kinds, values_[i].type.kind) != kinds.end();
      if (readable && wanted) found.push_back(i);
    }
    std::ranges::shuffle(found, random_);
    if (found.size() > most) found.resize(most);
    return found;
  }

  void add_something() {
    switch (pick(random_, 0, 13)) {
      case 0:
        return add_in_place();
      case 1:
        return add_views();
      case 2:
        return add_sum();
      case 3:
        return add_coupled();
      case 4:
        return add_whole();
      case 5:
        return add_state_op();
      case 6:
        return add_ragged();
      case 7:
        return add_overwrite();
      default:
        return add_row_wise();
    }
  }

  void add_row_wise() {
    auto reads = some({Kind::kSplit, Kind::kWhole}, static_cast<std::size_t>(pick(random_, 1, 3)));
    std::vector<std::size_t> writes;
    for (std::int64_t i = chance(random_, 0.2) ? 2 : 1; i > 0; --i)
      writes.push_back(add_value(Kind::kSplit));
    emit(reads, {}, writes);
  }

  void add_in_place() {
    const auto target = some({Kind::kSplit}, 1);
    if (values_[target[0]].unplaced) return;
    auto reads = some({Kind::kSplit, Kind::kWhole}, 2);
    std::erase_if(reads, [&](std::size_t i) { return overlaps(i, target[0]); });
    emit(reads, target, {});
  }

  void add_overwrite() {
    const auto target = some({Kind::kSplit}, 1);
    if (values_[target[0]].unplaced || values_[target[0]].fresh)
      return;  // someone must have read it
    auto reads = some({Kind::kSplit, Kind::kWhole}, 2);
    std::erase_if(reads, [&](std::size_t i) { return overlaps(i, target[0]); });
    emit(reads, {}, target);
  }

  /// One wide value that two ops write a part of each.
  void add_views() {
    const Type type{Kind::kSplit, DType::kI64, pick(random_, 2, 4)};
    const std::string name = "v" + std::to_string(values_.size());
    const ValueId base = builder_.value(name, type);
    const std::int64_t cut = pick(random_, 1, type.elements.constant() - 1);
    Type left = type;
    left.elements = cut;
    Type right = type;
    right.elements = type.elements.constant() - cut;
    values_.push_back(
        {builder_.view(name + ".a", base, 0, cut), left, false, false, false, false, base});
    values_.push_back({builder_.view(name + ".b", base, cut, right.elements), right, false, false,
                       false, false, base});
    const std::size_t b = values_.size() - 1;
    emit(some({Kind::kWhole}, 1), {}, {b - 1}, some_split());
    emit(some({Kind::kWhole}, 1), {}, {b}, some_split());
    values_.push_back({base, type, false, false, true, true});
  }

  std::vector<std::size_t> some_split() { return some({Kind::kSplit}, 2); }

  [[nodiscard]] bool overlaps(std::size_t a, std::size_t b) const {
    const auto root = [&](std::size_t i) {
      return values_[i].base.valid() ? values_[i].base : values_[i].id;
    };
    return root(a) == root(b);
  }

  void add_sum() {
    auto reads = some({Kind::kSplit, Kind::kWhole}, 2);
    const bool has_rows = std::ranges::any_of(
        reads, [&](std::size_t i) { return values_[i].type.kind == Kind::kSplit; });
    if (!has_rows) return;
    const std::size_t sum = add_value(Kind::kPartial);
    emit(reads, {}, {sum});
    if (chance(random_, 0.6)) {
      const std::size_t use = add_value(Kind::kWhole);
      if (chance(random_, 0.5)) {
        emit({sum}, {}, {use});
      } else {
        emit({}, {sum}, {use});
      }
    }
  }

  void add_coupled() {
    auto reads = some({Kind::kSplit, Kind::kWhole, Kind::kCoupled, Kind::kPartial}, 2);
    const bool couple = chance(random_, 0.4);
    const std::size_t out = add_value(couple ? Kind::kCoupled : Kind::kSplit);
    emit(reads, {}, {out}, {}, {}, Coupling::kCoupled);
    if (couple) emit({out}, {}, {add_value(Kind::kSplit)}, {}, {}, Coupling::kCoupled);
  }

  void add_whole() { emit(some({Kind::kWhole, Kind::kPartial}, 2), {}, {add_value(Kind::kWhole)}); }

  void add_state_op() {
    if (states_.empty()) return add_row_wise();
    const StateId state = states_[static_cast<std::size_t>(
        pick(random_, 0, static_cast<std::int64_t>(states_.size()) - 1))];
    constexpr Access kAccesses[] = {Access::kRead, Access::kUpdate, Access::kWrite};
    const Effect effect{state, kAccesses[pick(random_, 0, 2)],
                        chance(random_, 0.7) ? Rows::kOwn : Rows::kAll};
    // A state may be overwritten unseen only if its bytes are compared at the end: they are.
    emit(some({Kind::kSplit, Kind::kWhole}, 2), {}, {add_value(Kind::kSplit)}, {}, {effect});
  }

  void add_ragged() {
    auto reads = some({Kind::kSplit, Kind::kWhole}, 2);
    const std::size_t ragged = add_value(Kind::kSplit, true);
    emit(reads, {}, {ragged});
    emit({ragged}, {}, {add_value(Kind::kSplit)});
  }

  /// Views that nobody reads whole, and values that are no outputs though unread.
  void read_leftovers() {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Known value = values_[i];
      const bool unread = value.fresh && (value.unplaced || value.base.valid());
      if (!unread || (value.base.valid() && is_output(value.base))) continue;
      const std::size_t out = add_value(Kind::kSplit);
      emit({i}, {}, {out});
      builder_.output(values_[out].id);
    }
  }
  [[nodiscard]] bool is_output(ValueId base) const {
    return std::ranges::any_of(values_,
                               [&](const Known& value) { return value.id == base && value.fresh; });
  }

  void emit(std::vector<std::size_t> reads, std::vector<std::size_t> updates,
            std::vector<std::size_t> writes, const std::vector<std::size_t>& more_reads = {},
            std::vector<Effect> effects = {}, Coupling coupling = Coupling::kRowWise) {
    for (const std::size_t i : more_reads) {
      if (std::ranges::find(reads, i) == reads.end()) reads.push_back(i);
    }
    OpSpec spec{.name = "op" + std::to_string(count_), .effects = std::move(effects)};
    MixingOp mixing{.op = count_, .updates = updates.size(), .effects = spec.effects};
    mixing.world = world_;
    const auto put = [&](const std::vector<std::size_t>& from, std::vector<ValueId>& ids,
                         std::vector<Type>& types, std::vector<std::uint8_t>& unplaced) {
      for (const std::size_t i : from) {
        ids.push_back(values_[i].id);
        types.push_back(values_[i].type);
        unplaced.push_back(values_[i].unplaced ? 1 : 0);
      }
    };
    put(reads, spec.reads, mixing.in, mixing.in_unplaced);
    put(updates, spec.updates, mixing.out, mixing.out_unplaced);
    put(writes, spec.writes, mixing.out, mixing.out_unplaced);
    spec.coupling = coupling;
    if (chance(random_, 0.15)) {
      spec.tags = {"network"};
      spec.cost = CostClass::kNetwork;
      spec.group = "world";
    }
    note(reads, updates, writes);
    finish(std::move(spec), std::move(mixing));
  }

  void note(const std::vector<std::size_t>& reads, const std::vector<std::size_t>& updates,
            const std::vector<std::size_t>& writes) {
    const auto mark = [&](std::size_t i, bool fresh) {
      for (std::size_t k = 0; k < values_.size(); ++k) {
        const bool view_of = values_[i].base.valid() && values_[k].id == values_[i].base;
        const bool base_of = values_[k].base.valid() && values_[k].base == values_[i].id;
        if (k == i || (view_of && fresh) || base_of) values_[k].fresh = fresh;
        if (k == i && fresh) values_[k].written = true;
      }
    };
    for (const std::size_t i : reads) mark(i, false);
    for (const std::size_t i : updates) mark(i, true);
    for (const std::size_t i : writes) mark(i, true);
  }

  /// Whether the builder will run it once per batch, by the rules a user knows.
  void finish(OpSpec spec, MixingOp mixing) {
    bool rows = false;
    bool once = spec.coupling == Coupling::kCoupled;
    for (std::size_t i = 0; i < mixing.in.size(); ++i) {
      rows = rows || mixing.in[i].kind == Kind::kSplit;
      once = once || mixing.in[i].kind == Kind::kPartial || mixing.in[i].kind == Kind::kCoupled;
    }
    for (std::size_t i = 0; i < mixing.out.size(); ++i) {
      const Kind kind = mixing.out[i].kind;
      rows = rows || kind == Kind::kSplit || kind == Kind::kPartial;
      once = once || kind == Kind::kWhole || kind == Kind::kCoupled ||
             (kind == Kind::kPartial && i < mixing.updates);
    }
    for (const Effect& effect : spec.effects) {
      rows = rows || effect.rows == Rows::kOwn;
      once = once || (effect.rows == Rows::kAll && effect.access != Access::kRead);
    }
    mixing.once = once || !rows;
    force_once(spec, mixing);
    if (chance(random_, 0.3)) {
      spec.body = mixing_body(std::move(mixing));
    } else {
      spec.kernel = mixing_kernel(std::move(mixing));
    }
    builder_.op(std::move(spec));
    ++count_;
  }

  /// Unplaced values tie their ops together: keep coupled ops away from them, so that no op
  /// changes how often it runs after its kernel was made.
  void force_once(OpSpec& spec, MixingOp& mixing) {
    if (!mixing.once) return;
    const auto drop = [&](std::vector<ValueId>& ids, std::vector<Type>& types,
                          std::vector<std::uint8_t>& unplaced) {
      for (std::size_t i = ids.size(); i-- > 0;) {
        if (unplaced[i] == 0) continue;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i));
        types.erase(types.begin() + static_cast<std::ptrdiff_t>(i));
        unplaced.erase(unplaced.begin() + static_cast<std::ptrdiff_t>(i));
      }
    };
    drop(spec.reads, mixing.in, mixing.in_unplaced);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].unplaced) values_[i].fresh = true;  // it was not read after all
    }
  }

  Random& random_;
  GraphBuilder builder_{"random"};
  std::shared_ptr<WorldPointer> world_;
  std::vector<Known> values_;
  std::vector<StateId> states_;
  std::vector<SymbolId> symbols_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<std::int64_t> some_symbols(const Graph& graph, Random& random) {
  std::vector<std::int64_t> symbols;
  for (std::size_t i = 0; i < graph.symbols().size(); ++i) symbols.push_back(pick(random, 0, 3));
  return symbols;
}

RandomGraph random_graph(Random& random, int ops) { return Generator(random).run(ops); }

}  // namespace dynaflow::testing

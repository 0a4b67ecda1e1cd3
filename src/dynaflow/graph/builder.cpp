#include "dynaflow/graph/builder.h"

#include <algorithm>
#include <utility>

namespace dynaflow {
namespace {

std::string place(const std::source_location& where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

/// Per row. Keeps every byte count that follows from it far from overflow.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

std::string quoted(const std::string& name) { return "'" + name + "'"; }

/// Some elements of a value of constant size.
bool lies_within(const Extent& first, const Extent& elements, const Extent& all) {
  if (!first.is_constant() || !elements.is_constant()) return false;
  const std::int64_t from = first.constant();
  return from >= 0 && elements.constant() >= 1 && from <= all.constant() &&
         elements.constant() <= all.constant() - from;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name) { graph_.name_ = std::move(name); }

void GraphBuilder::find(Rule rule, std::string message, Where where, std::string fix) {
  findings_.push_back({rule, std::move(message), place(where), std::move(fix)});
}

void GraphBuilder::declare(const std::string& what, const std::string& name, Where where) {
  if (names_[name]++ == 0) return;
  find(kDuplicateName, what + " " + quoted(name) + " is declared twice", where,
       "give every value, state and symbol a name of its own");
}

SymbolId GraphBuilder::symbol(std::string name, Where where) {
  declare("symbol", name, where);
  graph_.symbols_.push_back(std::move(name));
  return id_at<SymbolId>(graph_.symbols_.size() - 1);
}

/// What can be said of a size before symbols have values; Placement says the rest.
void GraphBuilder::check_size(ValueSpec& spec, Memory memory, Where where) {
  const Extent& elements = spec.type.elements;
  const std::string value = "value " + quoted(spec.name);
  const std::size_t symbols = graph_.symbols_.size();
  if (!elements.uses_only(symbols) || !spec.blocks.uses_only(symbols)) {
    find(kUnknownOperand, value + " has a size of symbols that are not in this graph", where,
         "use symbols this builder returned");
    spec = {spec.name, {spec.type.kind, spec.type.dtype, 1}, spec.size};
    return;
  }
  if (elements.is_constant() && (elements.constant() < 1 || elements.constant() > kMostElements)) {
    find(kBadType, value + " has " + to_string(elements) + " elements", where,
         "a value has at least one element (per row), and fewer than 2^40");
    spec.type.elements = 1;
    spec.blocks = 1;
  }
  if (spec.blocks == 1) return;
  if (!spec.type.has_rows() || memory == Memory::kUnplaced) {
    find(kBadType, value + " has blocks, but no rows at a known place", where,
         "only split and coupled values of known size can hold the batch inside");
  }
  const bool constant = elements.is_constant() && spec.blocks.is_constant();
  if (constant &&
      (spec.blocks.constant() < 1 || elements.constant() % spec.blocks.constant() != 0)) {
    find(kBadType,
         value + " has " + to_string(elements) + " elements in " + to_string(spec.blocks) +
             " blocks",
         where, "give a number of blocks that divides the elements of a row");
  }
}

ValueId GraphBuilder::add_value(ValueSpec spec, Memory memory, Where where) {
  declare("value", spec.name, where);
  check_size(spec, memory, where);
  const auto storage = id_at<StorageId>(graph_.storages_.size());
  graph_.storages_.push_back({spec.name, spec.type.kind, memory, spec.type.bytes(),
                              std::move(spec.blocks), size_of(spec.type.dtype)});
  graph_.values_.push_back({std::move(spec.name), storage, std::move(spec.type), 0});
  return id_at<ValueId>(graph_.values_.size() - 1);
}

ValueId GraphBuilder::input(std::string name, Type type, Where where) {
  return input(ValueSpec{std::move(name), std::move(type)}, where);
}

ValueId GraphBuilder::input(ValueSpec spec, Where where) {
  if (spec.type.kind == Kind::kPartial) {
    find(kKindMismatch, "input " + quoted(spec.name) + " is a partial sum", where,
         "an input is split, whole or coupled; only an op makes a partial sum");
  }
  if (spec.size == ValueSpec::Size::kUnplaced) {
    find(kKindMismatch, "input " + quoted(spec.name) + " is unplaced", where,
         "the caller knows the size of an input: give it");
  }
  const ValueId id = add_value(std::move(spec), Memory::kInput, where);
  graph_.inputs_.push_back(id);
  return id;
}

ValueId GraphBuilder::value(ValueSpec spec, Where where) {
  const bool unplaced = spec.size == ValueSpec::Size::kUnplaced;
  if (unplaced && spec.type.kind == Kind::kPartial) {
    find(kKindMismatch, "partial sum " + quoted(spec.name) + " is unplaced", where,
         "micro-batches add into one place: give a partial sum a known size");
  }
  const Memory memory = unplaced ? Memory::kUnplaced : Memory::kArena;
  return add_value(std::move(spec), memory, where);
}

ValueId GraphBuilder::value(std::string name, Type type, Where where) {
  return add_value({std::move(name), std::move(type)}, Memory::kArena, where);
}

ValueId GraphBuilder::view(std::string name, ValueId base, const Extent& first,
                           const Extent& elements, Where where) {
  if (!known(base)) {
    find(kUnknownOperand, "view " + quoted(name) + " is of a value that is not in this graph",
         where, "pass an id this builder returned");
    return {};
  }
  declare("value", name, where);
  const Value& of = graph_.value(base);
  const bool whole = first == 0 && elements == of.type.elements;
  if (!whole && graph_.storage(of.storage).is_indivisible()) {
    find(kBadType, "view " + quoted(name) + " is of a part of " + quoted(of.name), where,
         "a value of symbolic size, or with the batch inside, can only be viewed as a whole");
    return base;
  }
  if (!whole && !lies_within(first, elements, of.type.elements)) {
    find(kBadType, "view " + quoted(name) + " reaches outside " + quoted(of.name), where,
         "elements [first, first + elements) must lie within its " + to_string(of.type.elements));
    return base;
  }
  if (graph_.storage(of.storage).memory == Memory::kUnplaced) {
    find(kBadType, "view " + quoted(name) + " is of the unplaced value " + quoted(of.name), where,
         "an unplaced value has no layout before it is made: read it whole");
    return base;
  }
  Value view{std::move(name), of.storage, of.type,
             of.offset + first.constant() * size_of(of.type.dtype)};
  view.type.elements = elements;
  graph_.values_.push_back(std::move(view));
  return id_at<ValueId>(graph_.values_.size() - 1);
}

StateId GraphBuilder::state(std::string name, Where where) {
  declare("state", name, where);
  graph_.states_.push_back(std::move(name));
  return id_at<StateId>(graph_.states_.size() - 1);
}

std::vector<Operand> GraphBuilder::operands_of(const OpSpec& spec, Where where) {
  std::vector<Operand> operands;
  const auto add = [&](const std::vector<ValueId>& ids, Access access) {
    for (const ValueId id : ids) {
      if (known(id)) {
        operands.push_back({id, access});
      } else {
        find(kUnknownOperand, "op " + quoted(spec.name) + " uses a value that is not in this graph",
             where, "pass ids this builder returned");
      }
    }
  };
  add(spec.reads, Access::kRead);
  add(spec.updates, Access::kUpdate);
  add(spec.writes, Access::kWrite);
  return operands;
}

void GraphBuilder::check_effects(const OpSpec& spec, Where where) {
  for (const Effect& effect : spec.effects) {
    if (effect.state.index >= graph_.states_.size()) {
      find(kUnknownOperand, "op " + quoted(spec.name) + " names a state that is not in this graph",
           where, "pass ids this builder returned");
    }
    if (effect.access == Access::kAccumulate) {
      find(kKindMismatch, "op " + quoted(spec.name) + " accumulates into a state", where,
           "a state is read, written or updated; sums are values of kind partial");
    }
  }
}

OpId GraphBuilder::op(OpSpec spec, Where where) {
  if (spec.name.empty() || op_names_[spec.name]++ > 0) {
    find(kDuplicateName, "op " + quoted(spec.name) + " is declared twice or has no name", where,
         "give every op a name of its own");
  }
  check_effects(spec, where);
  Op op;
  op.operands = operands_of(spec, where);
  op.reads = static_cast<std::size_t>(
      std::count_if(op.operands.begin(), op.operands.end(),
                    [](const Operand& operand) { return operand.access == Access::kRead; }));
  op.name = std::move(spec.name);
  op.effects = std::move(spec.effects);
  op.tags = std::move(spec.tags);
  op.cost = spec.cost;
  op.group = std::move(spec.group);
  op.kernel = std::move(spec.kernel);
  op.body = std::move(spec.body);
  graph_.ops_.push_back(std::move(op));
  coupling_.push_back(spec.coupling);
  op_where_.push_back(where);
  return id_at<OpId>(graph_.ops_.size() - 1);
}

void GraphBuilder::output(ValueId value, Where where) { outputs_.emplace_back(value, where); }

Result<Graph> GraphBuilder::build() {
  if (findings_.empty()) {
    check_outputs();
    decide_runs();
    check_partials();
  }
  if (findings_.empty()) check_reads();
  if (findings_.empty()) {
    derive_touches();
    derive_dependencies();
  }
  auto result = all_well(std::move(findings_));
  Graph graph = std::move(graph_);
  *this = GraphBuilder(graph.name());
  if (!result) return Unexpected(result.error());
  return graph;
}

}  // namespace dynaflow

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

}  // namespace

GraphBuilder::GraphBuilder(std::string name) { graph_.name_ = std::move(name); }

void GraphBuilder::find(Rule rule, std::string message, Where where, std::string fix) {
  findings_.push_back({rule, std::move(message), place(where), std::move(fix)});
}

ValueId GraphBuilder::add_value(ValueSpec spec, Memory memory, Where where) {
  if (names_[spec.name]++ > 0) {
    find(kDuplicateName, "value " + quoted(spec.name) + " is declared twice", where,
         "give every value and state a name of its own");
  }
  if (spec.type.elements < 1 || spec.type.elements > kMostElements) {
    find(kBadType,
         "value " + quoted(spec.name) + " has " + std::to_string(spec.type.elements) + " elements",
         where, "a value has at least one element (per row), and fewer than 2^40");
    spec.type.elements = 1;
  }
  const auto storage = id_at<StorageId>(graph_.storages_.size());
  graph_.storages_.push_back({spec.name, spec.type.kind, memory, spec.type.bytes()});
  graph_.values_.push_back({std::move(spec.name), storage, spec.type, 0});
  return id_at<ValueId>(graph_.values_.size() - 1);
}

ValueId GraphBuilder::input(std::string name, Type type, Where where) {
  if (type.kind == Kind::kPartial) {
    find(kKindMismatch, "input " + quoted(name) + " is a partial sum", where,
         "an input is split, whole or coupled; only an op makes a partial sum");
  }
  const ValueId id = add_value({std::move(name), type}, Memory::kInput, where);
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
  return add_value({std::move(name), type}, Memory::kArena, where);
}

ValueId GraphBuilder::view(std::string name, ValueId base, std::int64_t first,
                           std::int64_t elements, Where where) {
  if (!known(base)) {
    find(kUnknownOperand, "view " + quoted(name) + " is of a value that is not in this graph",
         where, "pass an id this builder returned");
    return {};
  }
  if (names_[name]++ > 0) {
    find(kDuplicateName, "value " + quoted(name) + " is declared twice", where,
         "give every value and state a name of its own");
  }
  const Value& of = graph_.value(base);
  if (first < 0 || elements < 1 || first > of.type.elements ||
      elements > of.type.elements - first) {
    find(kBadType, "view " + quoted(name) + " reaches outside " + quoted(of.name), where,
         "elements [first, first + elements) must lie within its " +
             std::to_string(of.type.elements));
    return base;
  }
  if (graph_.storage(of.storage).memory == Memory::kUnplaced) {
    find(kBadType, "view " + quoted(name) + " is of the unplaced value " + quoted(of.name), where,
         "an unplaced value has no layout before it is made: read it whole");
    return base;
  }
  Value view{std::move(name), of.storage, of.type, of.offset + first * size_of(of.type.dtype)};
  view.type.elements = elements;
  graph_.values_.push_back(std::move(view));
  return id_at<ValueId>(graph_.values_.size() - 1);
}

StateId GraphBuilder::state(std::string name, Where where) {
  if (names_[name]++ > 0) {
    find(kDuplicateName, "state " + quoted(name) + " is declared twice", where,
         "give every value and state a name of its own");
  }
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

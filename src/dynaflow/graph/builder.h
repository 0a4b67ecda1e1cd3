#pragma once

#include <map>
#include <source_location>
#include <string>
#include <vector>

#include "dynaflow/graph/graph.h"

namespace dynaflow {

/// What an op says of its rows.
enum class Coupling : std::uint8_t {
  kRowWise,  ///< output row i depends on input row i only
  kCoupled,  ///< rows depend on each other (a mean over the batch): never run on a part
};

/// A new value with a storage of its own.
struct ValueSpec {
  std::string name;
  Type type = {};
  enum class Size : std::uint8_t { kKnown, kUnplaced } size = Size::kKnown;
  Extent blocks = 1;  ///< see Storage: other than one, the batch is inside
};

/// A new op. `writes` overwrite (and add, for partial sums); `updates` read and write in place.
/// A kernel sees `in(i)` = reads, then `out(i)` = updates followed by writes. To run, an op needs a
/// kernel or a body, not both.
struct OpSpec {
  std::string name;
  std::vector<ValueId> reads = {};
  std::vector<ValueId> updates = {};
  std::vector<ValueId> writes = {};
  std::vector<Effect> effects = {};
  std::vector<std::string> tags = {};
  CostClass cost = CostClass::kCompute;
  std::string group = {};
  Coupling coupling = Coupling::kRowWise;
  Kernel kernel = {};
  std::shared_ptr<const Body> body = {};
};

/// Collects a graph in program order; `build` checks it as a whole and reports every finding.
class GraphBuilder {
 public:
  using Where = std::source_location;

  explicit GraphBuilder(std::string name = "graph");

  /// A size that each batch gives anew: for the extents of types and blocks.
  SymbolId symbol(std::string name, Where where = Where::current());
  ValueId input(std::string name, Type type, Where where = Where::current());
  ValueId input(ValueSpec spec, Where where = Where::current());
  ValueId value(ValueSpec spec, Where where = Where::current());
  ValueId value(std::string name, Type type, Where where = Where::current());
  /// Bytes of `base`, seen as another value: from element `first`, `elements` of them, in each row.
  /// Only the whole of a value whose size is symbolic or that holds the batch inside.
  ValueId view(std::string name, ValueId base, const Extent& first, const Extent& elements,
               Where where = Where::current());
  StateId state(std::string name, Where where = Where::current());
  OpId op(OpSpec spec, Where where = Where::current());
  void output(ValueId value, Where where = Where::current());

  /// Leaves the builder empty. Kernels may be missing in a graph that is only planned.
  [[nodiscard]] Result<Graph> build();

 private:
  void find(Rule rule, std::string message, Where where, std::string fix);
  void declare(const std::string& what, const std::string& name, Where where);
  void check_size(ValueSpec& spec, Memory memory, Where where);
  ValueId add_value(ValueSpec spec, Memory memory, Where where);
  [[nodiscard]] bool known(ValueId id) const { return id.index < graph_.values_.size(); }
  [[nodiscard]] std::vector<Operand> operands_of(const OpSpec& spec, Where where);
  void check_effects(const OpSpec& spec, Where where);
  void check_partials();
  void check_reads();
  void check_outputs();
  void decide_runs();
  void derive_touches();
  void derive_dependencies();

  Graph graph_;
  std::vector<Coupling> coupling_;
  std::vector<Where> op_where_;
  std::vector<std::pair<ValueId, Where>> outputs_;
  std::map<std::string, int> names_;  ///< of values, states and symbols
  std::map<std::string, int> op_names_;
  std::vector<Diagnostic> findings_;
};

}  // namespace dynaflow

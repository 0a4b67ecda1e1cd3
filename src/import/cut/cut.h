#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dynaflow/graph/body.h"
#include "dynaflow/graph/graph.h"
#include "import/rows/rows.h"

/// Which calls make up one op: the arrow from a Capture to a Graph.
namespace dynaflow::cut {

/// "These calls are an op of their own", as a user's annotation says it.
struct Rule {
  enum class Selects : std::uint8_t {
    kModule,    ///< all calls of each module whose class or path matches: one op per module
    kFunction,  ///< each call, or each run of calls, that matches in order: one op each
    kMark,      ///< all calls under a mark of that name: one op per module it is used in
  };

  Selects selects = Selects::kModule;
  std::vector<std::string> patterns;  ///< globs; a function's sequence has one per call
  std::vector<std::string> tags = {};
};

/// One op to be: calls that run together.
struct Region {
  std::string name;
  std::vector<capture::CallId> calls;      ///< in program order, with the views it reads through
  std::vector<capture::TensorId> reads;    ///< computed ones first, then the model's own
  std::vector<capture::TensorId> updates;  ///< tensors from outside that it writes to
  std::vector<capture::TensorId> writes;   ///< tensors of its own that others read
  std::vector<std::string> tags;
  RunsPer runs = RunsPer::kMicrobatch;
  std::string runs_reason;
  std::string group;       ///< collectives
  std::uint32_t body = 0;  ///< regions of equal calls have equal bodies
};

struct Cut {
  rows::Rows rows;
  std::vector<Region> regions;                ///< in an order in which they can run
  std::uint32_t bodies = 0;                   ///< how many distinct ones
  std::vector<capture::TensorId> base;        ///< per tensor: the tensor whose memory it views
  std::vector<capture::TensorId> shown = {};  ///< per tensor with memory: what users know it as
  std::vector<std::string> warnings;          ///< what matches nothing, and what is near

  [[nodiscard]] const capture::Capture& capture() const { return rows.capture; }
};

/// Regions by the rules; without any, collectives alone and repeated blocks in between. Calls that
/// need no rows go first, into a prologue; calls that need all rows are ops of their own.
[[nodiscard]] Cut make_cut(rows::Rows rows, const std::vector<Rule>& rules);

/// Makes what executes regions of one body; called once per distinct body.
using BodyFactory = std::function<std::shared_ptr<const Body>(const Cut&, const Region&)>;

/// A Graph, and which of its values the Capture's tensors are.
struct CutGraph {
  Graph graph;
  std::vector<ValueId> values;  ///< per tensor; invalid for those inside a region and for views
};

[[nodiscard]] Result<CutGraph> make_graph(const Cut& cut, const BodyFactory& make_body);

/// Two lines per region: name, calls, how it runs; what it reads and writes.
[[nodiscard]] std::string to_string(const Cut& cut);

}  // namespace dynaflow::cut

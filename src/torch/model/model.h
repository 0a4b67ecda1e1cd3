#pragma once

#include <ATen/core/Tensor.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dynaflow/base/lru_cache.h"
#include "dynaflow/compile.h"
#include "import/cut/cut.h"
#include "import/cut/views.h"
#include "import/inplace/in_place.h"
#include "torch/aten/caller.h"
#include "torch/collective/agreement.h"
#include "torch/model/shapes.h"
#include "torch/model/workspace.h"

namespace dynaflow::model {

/// What the caller may say of one batch beyond its tensors.
struct BatchFacts {
  std::vector<std::int64_t> requests = {};
  std::map<std::string, std::int64_t> facts = {};

  friend bool operator==(const BatchFacts&, const BatchFacts&) = default;
};

/// Lanes of the CPU, shared by all models of the process so that they do not compete for cores. A
/// forked child has none of its parent's threads, and gets lanes of its own.
class Lanes {
 public:
  [[nodiscard]] static std::shared_ptr<Device> of_process();
  /// Changes with every fork.
  [[nodiscard]] static std::uint32_t generation();
};

/// A captured PyTorch model under a strategy: takes and returns tensors, and runs the Graph cut
/// from the capture on lanes of the CPU. Thread-safe: one run at a time.
class Model {
 public:
  /// `constants` are the tensors of the capture's constant inputs, in order.
  [[nodiscard]] static Result<std::shared_ptr<Model>> make(
      capture::Capture capture, const std::vector<cut::Rule>& rules,
      std::shared_ptr<const OpScheduler> scheduler, std::vector<at::Tensor> constants,
      const rows::Declarations& declarations = {});

  struct TakeBack {
    Model* model;
    void operator()(Workspace* lent) const { model->take_back(lent); }
  };
  /// A workspace that its Model gets back in the end, and must outlive.
  using Lent = std::unique_ptr<Workspace, TakeBack>;
  /// For one run, to be filled with arguments.
  [[nodiscard]] Lent lend();
  /// Says which batch the arguments are.
  void read_batch(Workspace& work, const BatchFacts& facts) const;
  /// From the arguments of a batch that was read to what is returned.
  /// `caller` becomes the run's context.
  [[nodiscard]] Result<void> run(Workspace& work, const RunOptions& options, aten::Caller& caller);

  /// How the strategy splits such a batch.
  [[nodiscard]] Result<Split> split(const Batch& batch) { return compiled().split(batch); }
  [[nodiscard]] const cut::Cut& cut() const { return *cut_; }
  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] const OpScheduler& scheduler() const { return *scheduler_; }
  /// Of the last run that ended well.
  [[nodiscard]] Stats last_stats() const;
  /// What ran last; null before the first run.
  [[nodiscard]] std::shared_ptr<const Program> last_program() const;
  [[nodiscard]] CompileStats compile_stats() { return compiled().stats(); }
  [[nodiscard]] const inplace::Undone& undone() const { return undone_; }

 private:
  /// Memory that the run writes and the caller gets.
  struct Memory {
    ValueId value;
    capture::TensorId tensor;
    std::vector<Extent> strides;
  };
  /// Where an output is: in some result's memory or in an argument, seen through view calls; or
  /// nowhere.
  struct Returned {
    std::optional<std::size_t> result = {};  ///< place in results_
    std::optional<std::size_t> argument = {};
    std::vector<cut::Views::Link> chain = {};
  };
  /// An argument that is the value of a symbol.
  struct Given {
    std::size_t argument;
    SymbolId symbol;
  };
  struct Bound {
    ValueId value;
    std::size_t at = 0;  ///< which of the arguments, or of the constants
    enum class From : std::uint8_t { kArgument, kConstant } from = From::kArgument;
    std::vector<Extent> strides;  ///< as the graph expects them
    Binding::Use use = Binding::Use::kReadOnly;
  };

  Model(std::shared_ptr<const cut::Cut> cut, cut::CutGraph graph,
        std::shared_ptr<const OpScheduler> scheduler, std::vector<at::Tensor> constants,
        inplace::Undone undone);

  [[nodiscard]] CompiledGraph& compiled();
  void find_bound(const cut::CutGraph& graph);
  void find_results(const cut::CutGraph& graph);
  /// Runs, and agrees with other ranks about it where there are any.
  [[nodiscard]] Result<Stats> launch(Workspace& work, const std::shared_ptr<Program>& program,
                                     RunOptions options, aten::Caller& caller);
  void take_back(Workspace* lent);
  [[nodiscard]] std::shared_ptr<const Shapes> shapes_for(const std::vector<std::int64_t>& symbols);
  [[nodiscard]] Shapes make_shapes(const std::vector<std::int64_t>& symbols) const;
  [[nodiscard]] Result<void> bind(Workspace& work, const Shapes& shapes) const;
  [[nodiscard]] Result<Binding> bind_input(std::size_t i, Workspace& work,
                                           const Shapes& shapes) const;
  /// Inputs with gaps were copied: writes go back. Says how many bytes that was.
  [[nodiscard]] std::int64_t finish_inputs(const Workspace& work) const;
  void give_back(Workspace& work, const Shapes& shapes) const;

  std::shared_ptr<const cut::Cut> cut_;
  std::shared_ptr<const OpScheduler> scheduler_;
  std::vector<at::Tensor> constants_;
  std::vector<Bound> bound_;
  std::vector<Memory> results_;
  std::vector<Returned> returned_;  ///< parallel to the capture's outputs
  std::vector<Given> given_;
  inplace::Undone undone_;
  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<collective::Agreements> agreements_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::shared_ptr<Device> device_;
  std::unique_ptr<CompiledGraph> compiled_;
  std::uint32_t generation_ = 0;  ///< of the process, when compiled_ was made
  Stats last_stats_;
  std::shared_ptr<const Program> last_program_;
  LruCache<std::vector<std::int64_t>, std::shared_ptr<const Shapes>> shapes_;  ///< by symbols
  std::vector<std::unique_ptr<Workspace>> spare_;
};

}  // namespace dynaflow::model

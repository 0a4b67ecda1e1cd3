#pragma once

#include <ATen/core/Tensor.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dynaflow/compile.h"
#include "import/cut/cut.h"
#include "import/cut/views.h"
#include "import/inplace/in_place.h"
#include "torch/aten/caller.h"
#include "torch/collective/agreement.h"

namespace dynaflow::model {

/// What the framework passes in or gets back: a tensor, a size, or nothing we know of.
using Item = std::variant<std::monostate, at::Tensor, std::int64_t>;

/// What the caller may say of one batch beyond its tensors.
struct BatchFacts {
  std::vector<std::int64_t> requests = {};
  std::map<std::string, std::int64_t> facts = {};
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

  /// `items` are parallel to the capture's inputs without its constants.
  /// `caller` becomes the run's context.
  [[nodiscard]] Result<std::vector<Item>> run(const std::vector<Item>& items,
                                              const BatchFacts& facts, const RunOptions& options,
                                              aten::Caller& caller);

  /// How the strategy splits such a batch.
  [[nodiscard]] Result<Split> split(const Batch& batch) { return compiled().split(batch); }
  /// The batch that these items are.
  [[nodiscard]] Batch batch_of(const std::vector<Item>& items, const BatchFacts& facts = {}) const;
  /// The plan for such a batch.
  [[nodiscard]] Result<std::shared_ptr<const Program>> program(const Batch& batch);
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
  /// How an output is seen in its base: the view calls that lead there.
  struct Returned {
    std::vector<cut::Views::Link> chain;
  };
  struct Bound {
    ValueId value;
    std::size_t item = 0;  ///< which of the items, or which constant
    enum class From : std::uint8_t { kItem, kConstant } from = From::kItem;
    std::vector<Extent> strides;  ///< as the graph expects them
    Binding::Use use = Binding::Use::kReadOnly;
  };

  Model(std::shared_ptr<const cut::Cut> cut, cut::CutGraph graph,
        std::shared_ptr<const OpScheduler> scheduler, std::vector<at::Tensor> constants,
        inplace::Undone undone);

  [[nodiscard]] CompiledGraph& compiled();
  void find_bound(const cut::CutGraph& graph);
  void find_results(const cut::CutGraph& graph);
  [[nodiscard]] at::Tensor view_through(at::Tensor base, const std::vector<cut::Views::Link>& chain,
                                        const std::vector<std::int64_t>& symbols) const;
  struct Tensors {
    std::vector<at::Tensor> inputs;   ///< held until the run ends
    std::vector<at::Tensor> results;  ///< parallel to results_
    std::vector<Binding> bindings;
  };
  /// Runs, and agrees with other ranks about it where there are any.
  [[nodiscard]] Result<Stats> launch(const std::shared_ptr<Program>& program, const Batch& batch,
                                     const Tensors& tensors, RunOptions options,
                                     aten::Caller& caller);
  [[nodiscard]] Result<Tensors> bind(const std::vector<Item>& items, const Batch& batch) const;
  /// Inputs with gaps were copied: writes go back. Says how many bytes that was.
  [[nodiscard]] std::int64_t finish_inputs(const std::vector<Item>& items,
                                           const Tensors& tensors) const;
  [[nodiscard]] std::vector<Item> give_back(const std::vector<Item>& items, const Batch& batch,
                                            const Tensors& tensors) const;
  [[nodiscard]] Result<at::Tensor> tensor_for(const Bound& bound, const std::vector<Item>& items,
                                              const Batch& batch) const;

  std::shared_ptr<const cut::Cut> cut_;
  std::shared_ptr<const OpScheduler> scheduler_;
  std::vector<at::Tensor> constants_;
  std::vector<Bound> bound_;
  std::vector<Memory> results_;
  std::vector<Returned> returned_;       ///< parallel to the capture's outputs
  std::vector<std::int32_t> result_of_;  ///< per tensor: place in results_, or -1
  std::vector<std::int32_t> item_of_;    ///< per tensor: place in items, or -1
  inplace::Undone undone_;
  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<collective::Agreements> agreements_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::shared_ptr<Device> device_;
  std::unique_ptr<CompiledGraph> compiled_;
  std::uint32_t generation_ = 0;  ///< of the process, when compiled_ was made
  Stats last_stats_;
  std::shared_ptr<const Program> last_program_;
};

}  // namespace dynaflow::model

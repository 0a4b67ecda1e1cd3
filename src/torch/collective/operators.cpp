#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "torch/aten/caller.h"
#include "torch/aten/current_step.h"
#include "torch/collective/agreement.h"

// The collectives of PyTorch's functional library with the same arguments, as a step needs them:
// complete when they return, writing where the result belongs, and never looking for a transfer by
// its tensor's storage, which micro-batches share. Bodies find them in place of PyTorch's own.
namespace dynaflow::collective {
namespace {

using at::Tensor;
using at::TensorList;

c10d::ReduceOp reduction(const std::string& name) {
  if (name == "sum") return c10d::ReduceOp::SUM;
  if (name == "avg") return c10d::ReduceOp::AVG;
  if (name == "product") return c10d::ReduceOp::PRODUCT;
  if (name == "min") return c10d::ReduceOp::MIN;
  if (name == "max") return c10d::ReduceOp::MAX;
  if (name == "band") return c10d::ReduceOp::BAND;
  if (name == "bor") return c10d::ReduceOp::BOR;
  if (name == "bxor") return c10d::ReduceOp::BXOR;
  throw std::invalid_argument("no reduction is called " + name);
}

/// A transfer of the step at hand: it is its turn, and the ranks have agreed upon this run.
class Transfer {
 public:
  explicit Transfer(const c10::IValue& group) : turn_(take_turn()), group_(named(group)) {
    const KernelArgs* const step = aten::CurrentStep::get();
    if (step == nullptr || step->context == nullptr || group_.is_alone()) return;
    RunAgreement* const agreement = static_cast<const aten::Caller*>(step->context)->agreement;
    if (agreement != nullptr) agreement->confirm(group_);
  }

  [[nodiscard]] const Group& group() const { return group_; }

  /// Waits for what was issued on the group; the next one may be issued meanwhile.
  void finish(const c10::intrusive_ptr<c10d::Work>& issued) const {
    if (turn_ != nullptr) turn_->pass();
    group_.finish(*issued);
  }

 private:
  static Turn* take_turn() {
    const KernelArgs* const step = aten::CurrentStep::get();
    if (step == nullptr || step->turn == nullptr) return nullptr;
    step->turn->take();
    return step->turn;
  }
  static Group named(const c10::IValue& group) {
    if (!group.isString()) throw std::invalid_argument("a captured collective names its group");
    return Group::named(group.toStringRef(), kTransferFailed);  // it was whole when the run began
  }

  Turn* turn_;  ///< null where the step has none to pass on
  Group group_;
};

/// Calls `use` with memory that has no gaps: the tensor's own, or a copy that goes back.
template <class Use>
void in_dense_memory(const Tensor& tensor, const Use& use) {
  if (tensor.is_contiguous()) return use(tensor);
  const Tensor dense = tensor.contiguous();
  use(dense);
  tensor.copy_(dense);
}

/// The same for memory that is only written.
template <class Use>
void into_dense_memory(const Tensor& out, const Use& use) {
  if (out.is_contiguous()) return use(out);
  const Tensor dense = at::empty_like(out, c10::MemoryFormat::Contiguous);
  use(dense);
  out.copy_(dense);
}

Tensor rows_like(const Tensor& input, std::int64_t rows) {
  std::vector<std::int64_t> sizes = input.sizes().vec();
  sizes.at(0) = rows;
  return at::empty(sizes, input.options());
}

// NOLINTBEGIN(bugprone-easily-swappable-parameters,performance-unnecessary-value-param):
// the signatures are PyTorch's.

Tensor& all_reduce_in_place(Tensor& input, std::string reduce_op, const c10::IValue& group_name) {
  const Transfer transfer(group_name);
  const Group& group = transfer.group();
  // On every rank: sizes are agreed upon.
  if (input.numel() == 0 || group.is_alone()) return input;
  in_dense_memory(input, [&](const Tensor& dense) {
    std::vector<Tensor> tensors{dense};
    c10d::AllreduceOptions options;
    options.reduceOp = reduction(reduce_op);
    transfer.finish(group->allreduce(tensors, options));
  });
  return input;
}

Tensor& all_reduce_out(const Tensor& input, std::string reduce_op, const c10::IValue& group_name,
                       Tensor& out) {
  out.copy_(input);
  return all_reduce_in_place(out, std::move(reduce_op), group_name);
}

Tensor all_reduce(const Tensor& input, std::string reduce_op, const c10::IValue& group_name) {
  Tensor out = input.clone(c10::MemoryFormat::Contiguous);
  return all_reduce_in_place(out, std::move(reduce_op), group_name);
}

Tensor& broadcast_in_place(Tensor& input, std::int64_t src, const c10::IValue& group_name) {
  const Transfer transfer(group_name);
  const Group& group = transfer.group();
  if (input.numel() == 0 || group.is_alone()) return input;
  in_dense_memory(input, [&](const Tensor& dense) {
    std::vector<Tensor> tensors{dense};
    c10d::BroadcastOptions options;
    options.rootRank = src;
    transfer.finish(group->broadcast(tensors, options));
  });
  return input;
}

Tensor& broadcast_out(const Tensor& input, std::int64_t src, const c10::IValue& group_name,
                      Tensor& out) {
  out.copy_(input);
  return broadcast_in_place(out, src, group_name);
}

Tensor broadcast(const Tensor& input, std::int64_t src, const c10::IValue& group_name) {
  Tensor out = input.clone(c10::MemoryFormat::Contiguous);
  return broadcast_in_place(out, src, group_name);
}

Tensor& all_gather_out(const Tensor& input, std::int64_t /*group_size*/,
                       const c10::IValue& group_name, Tensor& out) {
  const Transfer transfer(group_name);
  const Group& group = transfer.group();
  if (out.numel() == 0) return out;
  into_dense_memory(out, [&](Tensor dense) {
    Tensor from = input.contiguous();
    transfer.finish(group->all_gather_single(dense, from));
  });
  return out;
}

Tensor all_gather(const Tensor& input, std::int64_t group_size, const c10::IValue& group_name) {
  Tensor out = rows_like(input, input.size(0) * group_size);
  return all_gather_out(input, group_size, group_name, out);
}

Tensor& reduce_scatter_out(const Tensor& input, std::string reduce_op, std::int64_t /*group_size*/,
                           const c10::IValue& group_name, Tensor& out) {
  const Transfer transfer(group_name);
  const Group& group = transfer.group();
  if (input.numel() == 0) return out;
  into_dense_memory(out, [&](Tensor dense) {
    Tensor from = input.contiguous();
    c10d::ReduceScatterOptions options;
    options.reduceOp = reduction(reduce_op);
    transfer.finish(group->reduce_scatter_single(dense, from, options));
  });
  return out;
}

Tensor reduce_scatter(const Tensor& input, std::string reduce_op, std::int64_t group_size,
                      const c10::IValue& group_name) {
  Tensor out = rows_like(input, input.size(0) / group_size);
  return reduce_scatter_out(input, std::move(reduce_op), group_size, group_name, out);
}

Tensor& all_to_all_out(const Tensor& input, std::vector<std::int64_t> output_split_sizes,
                       std::vector<std::int64_t> input_split_sizes, const c10::IValue& group_name,
                       Tensor& out) {
  const Transfer transfer(group_name);
  const Group& group = transfer.group();
  into_dense_memory(out, [&](Tensor dense) {
    Tensor from = input.contiguous();
    transfer.finish(group->all_to_all_single(dense, from, output_split_sizes, input_split_sizes));
  });
  return out;
}

Tensor all_to_all(const Tensor& input, std::vector<std::int64_t> output_split_sizes,
                  std::vector<std::int64_t> input_split_sizes, const c10::IValue& group_name) {
  std::int64_t rows = output_split_sizes.empty() ? input.size(0) : 0;
  for (const std::int64_t part : output_split_sizes) rows += part;
  Tensor out = rows_like(input, rows);
  return all_to_all_out(input, std::move(output_split_sizes), std::move(input_split_sizes),
                        group_name, out);
}

// Several at once are one after the other: the order is the same on every rank.

std::vector<Tensor> all_reduce_coalesced(TensorList inputs, std::string reduce_op,
                                         const c10::IValue& group_name) {
  std::vector<Tensor> outs;
  for (const Tensor& input : inputs) outs.push_back(all_reduce(input, reduce_op, group_name));
  return outs;
}

std::vector<Tensor> all_gather_coalesced(TensorList inputs, std::int64_t group_size,
                                         const c10::IValue& group_name) {
  std::vector<Tensor> outs;
  for (const Tensor& input : inputs) outs.push_back(all_gather(input, group_size, group_name));
  return outs;
}

std::vector<Tensor> reduce_scatter_coalesced(TensorList inputs, std::string reduce_op,
                                             std::int64_t group_size,
                                             const c10::IValue& group_name) {
  std::vector<Tensor> outs;
  for (const Tensor& input : inputs) {
    outs.push_back(reduce_scatter(input, reduce_op, group_size, group_name));
  }
  return outs;
}

// NOLINTEND(bugprone-easily-swappable-parameters,performance-unnecessary-value-param)

}  // namespace

TORCH_LIBRARY(dynaflow, library) {
  const auto def = [&](const std::string& call, const std::string& result) {
    library.def((call + " -> " + result).c_str());
  };
  const auto with_out = [&](const std::string& name, const std::string& arguments) {
    def(name + "(" + arguments + ")", "Tensor");
    def(name + ".out(" + arguments + ", *, Tensor(a!) out)", "Tensor(a!)");
  };
  with_out("all_reduce", "Tensor input, str reduce_op, Any group_name");
  def("all_reduce_(Tensor(a!) input, str reduce_op, Any group_name)", "Tensor(a!)");
  with_out("broadcast", "Tensor input, int src, Any group_name");
  def("broadcast_(Tensor(a!) input, int src, Any group_name)", "Tensor(a!)");
  with_out("all_gather_into_tensor", "Tensor input, int group_size, Any group_name");
  with_out("reduce_scatter_tensor", "Tensor input, str reduce_op, int group_size, Any group_name");
  with_out("all_to_all_single",
           "Tensor input, int[] output_split_sizes, int[] input_split_sizes, Any group_name");
  def("all_reduce_coalesced(Tensor[] inputs, str reduce_op, Any group_name)", "Tensor[]");
  def("all_gather_into_tensor_coalesced(Tensor[] inputs, int group_size, Any group_name)",
      "Tensor[]");
  def("reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, int group_size, "
      "Any group_name)",
      "Tensor[]");
}

TORCH_LIBRARY_IMPL(dynaflow, CPU, library) {
  library.impl("all_reduce", &all_reduce);
  library.impl("all_reduce.out", &all_reduce_out);
  library.impl("all_reduce_", &all_reduce_in_place);
  library.impl("broadcast", &broadcast);
  library.impl("broadcast.out", &broadcast_out);
  library.impl("broadcast_", &broadcast_in_place);
  library.impl("all_gather_into_tensor", &all_gather);
  library.impl("all_gather_into_tensor.out", &all_gather_out);
  library.impl("reduce_scatter_tensor", &reduce_scatter);
  library.impl("reduce_scatter_tensor.out", &reduce_scatter_out);
  library.impl("all_to_all_single", &all_to_all);
  library.impl("all_to_all_single.out", &all_to_all_out);
  library.impl("all_reduce_coalesced", &all_reduce_coalesced);
  library.impl("all_gather_into_tensor_coalesced", &all_gather_coalesced);
  library.impl("reduce_scatter_tensor_coalesced", &reduce_scatter_coalesced);
}

}  // namespace dynaflow::collective

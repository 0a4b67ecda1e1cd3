#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <vector>

#include "torch/aten/aten_body.h"
#include "torch/aten/scratch.h"
#include "torch/aten/values.h"

namespace dynaflow::aten {

/// An AtenBody at one call site: tensors over storages that follow the operands' addresses.
class BoundAten final : public BoundBody {
 public:
  BoundAten(const AtenBody& body, const BindArgs& args);

  void run(const KernelArgs& args) override;

 private:
  /// One argument that only a run can know: it holds a late tensor or a size of one.
  struct Patch {
    std::uint32_t position = 0;
    const capture::Argument* argument = nullptr;
    c10::TypePtr type;
  };
  struct Step {
    const AtenBody::Instruction* instruction = nullptr;
    const c10::OperatorHandle* handle = nullptr;
    std::vector<c10::IValue> arguments;
    std::vector<Patch> patches;
    enum class Results : std::uint8_t {
      kDropped,  ///< they are where they belong
      kKept,     ///< late tensors, or to be copied to operands
    } results = Results::kDropped;
  };
  /// An operand that no strided tensor can show: the run works on a dense copy.
  struct Copy {
    at::Tensor strided;  ///< blocks × rows × rest, in the operand's memory
    at::Tensor dense;    ///< the same elements in scratch memory
    bool read = false;
    bool written = false;
  };

  /// A tensor that the body has from elsewhere than its operands, and where it was when bound.
  struct Given {
    at::Tensor tensor;
    c10::Storage storage;
  };

  void make_operands(const BindArgs& args);
  void take_given(std::uint32_t slot);
  void make_operand(std::uint32_t slot, const View& view);
  void make_copy(std::uint32_t slot, const View& view, bool written);
  void make_scratch_tensors();
  void add(const AtenBody::Instruction& instruction);
  void evaluate_now(const AtenBody::Instruction& instruction);
  void add_copy_out(std::uint32_t slot, const at::Tensor& from);
  [[nodiscard]] bool is_late(const capture::Argument& argument) const;
  [[nodiscard]] bool is_late_view(const AtenBody::Instruction& instruction) const;
  Step make_step(const AtenBody::Instruction& instruction, const c10::OperatorHandle& handle,
                 std::span<const capture::Argument> arguments) const;
  [[nodiscard]] const capture::Tensor& captured(std::uint32_t slot) const;
  [[nodiscard]] Scope scope() const;
  void point_operands(const KernelArgs& args);
  void check_given() const;
  void run_step(const Step& step);
  void keep_results(const Step& step);
  void keep(std::uint32_t slot, at::Tensor result);
  void learn_sizes(std::uint32_t slot, const at::Tensor& tensor);

  const AtenBody& body_;
  std::vector<std::int64_t> symbols_;
  Scratch scratch_;
  std::vector<c10::Storage> storages_;  ///< per operand, then the scratch memory
  std::vector<std::byte*> addresses_;   ///< where they point to
  std::vector<at::Tensor> tensors_;     ///< per slot
  std::vector<Given> given_;
  std::vector<Copy> copies_;
  std::vector<Step> steps_;
  torch::jit::Stack stack_;
  std::size_t reads_ = 0;
  bool skips_ = false;
  std::int64_t copied_bytes_ = 0;  ///< per run, by `copies_`
  std::int64_t python_calls_ = 0;  ///< per run: operators that Python implements
  std::int64_t allocations_ = 0;   ///< per run: calls that return fresh memory
};

}  // namespace dynaflow::aten

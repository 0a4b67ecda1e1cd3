#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "dynaflow/graph/body.h"
#include "import/cut/cut.h"
#include "torch/aten/operator.h"

namespace dynaflow::aten {

/// Executes a region call by call through PyTorch's dispatcher, without Python. What a call site's
/// sizes decide is done when it is bound: views are made, constants computed, intermediates get
/// their place in the step's scratch memory, and arguments are lined up. A run then points the
/// operands to their memory and makes the calls, each writing where its result belongs.
class AtenBody final : public Body {
 public:
  /// How a call is made.
  enum class Form : std::uint8_t {
    kView,      ///< at bind time, or when its base is there
    kConstant,  ///< at bind time: it depends on sizes only
    kInto,      ///< writes its outputs where they belong
    kCopy,      ///< copies its first argument to where the output belongs
    kInPlace,   ///< writes to its arguments
    kFresh,     ///< returns new tensors: there is no form of it that writes into given ones
  };

  /// Where a tensor's memory comes from.
  enum class Place : std::uint8_t {
    kOperand,
    kScratch,
    kBound,  ///< made at bind time: a constant, or a view of what is
    kGiven,  ///< a tensor that the body holds
    kLate,   ///< made anew in each run
  };

  struct Slot {
    capture::TensorId tensor;
    Place place = Place::kLate;
    std::uint32_t operand = 0;         ///< place in BindArgs::views, or among the given
    std::uint32_t base = 0;            ///< the slot whose memory it is
    std::uint32_t first = 0;           ///< scratch: the call that makes it …
    std::uint32_t last = 0;            ///< … and the last that uses it
    std::vector<Extent> strides = {};  ///< operands and scratch: found once, evaluated per size
  };

  struct Instruction {
    const capture::Call* call = nullptr;
    Operator op;
    Form form = Form::kFresh;
    std::vector<std::uint32_t> outputs;  ///< slots; kNoSlot for those that are no tensor
    std::vector<std::uint32_t> dies;     ///< late slots that nobody needs after it
  };
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  /// What a body of another capture than the graph's brings along.
  struct Own {
    std::vector<at::Tensor> constants = {};  ///< of the capture's constant inputs, in order
    std::vector<SymbolId> symbols = {};      ///< per symbol of the capture: the graph's
  };

  AtenBody(std::shared_ptr<const cut::Cut> cut, const cut::Region& region);
  AtenBody(std::shared_ptr<const cut::Cut> cut, const cut::Region& region, Own own);

  [[nodiscard]] std::int64_t scratch_bytes(const BindArgs& args) const override;
  [[nodiscard]] std::shared_ptr<BoundBody> bind(const BindArgs& args) const override;
  [[nodiscard]] bool passes_turn() const override;

  [[nodiscard]] const cut::Cut& cut() const { return *cut_; }
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  [[nodiscard]] const std::vector<Instruction>& instructions() const { return instructions_; }
  [[nodiscard]] std::uint32_t slot_of(capture::TensorId tensor) const;
  /// The tensors of the given slots; the others have none.
  [[nodiscard]] const at::Tensor& given(std::uint32_t slot) const;
  /// The capture's symbols at one call site: the batch is the step's rows.
  [[nodiscard]] std::vector<std::int64_t> symbols(const BindArgs& args) const;
  /// How many operands it updates in place; they come after those it reads.
  [[nodiscard]] std::uint32_t updates() const { return updates_; }
  /// A region without rows computes nothing; other ranks wait for a collective all the same.
  [[nodiscard]] bool skips(const BindArgs& args) const;

 private:
  void add_operands(const std::vector<capture::TensorId>& tensors);
  void add_given();
  std::uint32_t add_slot(capture::TensorId tensor, Place place);
  void add_call(const capture::Call& call, std::uint32_t index);
  void add_result(Instruction& instruction, std::size_t output, std::uint32_t index);
  [[nodiscard]] Form form_of(const capture::Call& call, const Operator& op) const;
  [[nodiscard]] bool is_constant(const capture::Call& call) const;
  [[nodiscard]] bool size_is_known(capture::TensorId tensor) const;
  void find_lifetimes();
  void find_strides();

  std::shared_ptr<const cut::Cut> cut_;
  Own own_;
  RunsPer runs_ = RunsPer::kMicrobatch;
  bool communicates_ = false;
  std::uint32_t updates_ = 0;
  std::uint32_t operands_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> slot_of_;  ///< per tensor of the capture
  std::vector<std::uint8_t> written_;   ///< per tensor: some call of the region writes to it
  std::vector<Instruction> instructions_;
};

}  // namespace dynaflow::aten

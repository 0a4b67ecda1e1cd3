#include "torch/bindings/called_function.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/python_variable.h>

#include <stdexcept>
#include <utility>

#include "import/cut/layout.h"
#include "torch/aten/caller.h"
#include "torch/aten/current_step.h"
#include "torch/aten/lane_team.h"
#include "torch/aten/operand.h"
#include "torch/aten/scratch.h"
#include "torch/aten/values.h"
#include "torch/bindings/errors.h"
#include "torch/bindings/user_code.h"

namespace py = pybind11;

namespace dynaflow::bindings {
namespace {

/// A Python object that may be let go by a thread without the GIL.
using Function = std::shared_ptr<py::function>;

Function share(const py::function& function) {
  return {new py::function(function), [](py::function* last) {
            const py::gil_scoped_acquire gil;
            delete last;
          }};
}

class BoundFunction final : public BoundBody {
 public:
  BoundFunction(Function function, const std::vector<ChainOperand>& operands, const BindArgs& args)
      : function_(std::move(function)), reads_(args.reads) {
    const c10::InferenceMode no_inference(false);  // else writes to the tensors are not counted
    for (std::size_t i = 0; i < args.views.size(); ++i) {
      const View& view = args.views[i];
      if (!aten::is_dense(view)) {
        throw std::invalid_argument(
            "a Python replacement cannot see a batch that is inside a "
            "merged tensor: replace it with a traced function");
      }
      const cut::Cut& cut = operands[i].body->cut();
      const auto symbols = operands[i].body->symbols(args);
      const auto layout = cut::layout_of(cut.rows, operands[i].tensor);
      storages_.push_back(aten::make_storage(aten::extent_of(view)));
      tensors_.push_back(
          aten::make_tensor(storages_.back(), view.dtype,
                            aten::evaluate(cut.capture().tensor(operands[i].tensor).sizes, symbols),
                            aten::evaluate(layout.strides, symbols), 0));
    }
  }

  void run(const KernelArgs& args) override {
    for (std::size_t i = 0; i < args.views.size(); ++i) {
      aten::point(storages_[i], args.views[i].data);
    }
    const aten::CallersProfiler profiler(args.context);
    const aten::LaneTeam team(args.cores);
    const aten::CurrentStep step(args);
    ++args.counts->python_calls;
    const UserCode state;
    RECORD_FUNCTION(std::string(args.name), std::vector<c10::IValue>());
    const py::gil_scoped_acquire gil;
    try {
      call();
    } catch (const py::error_already_set& failure) {
      throw std::runtime_error(described(failure));
    }
  }

 private:
  void call() const {
    py::tuple inputs(reads_);
    for (std::size_t i = 0; i < reads_; ++i) {
      // Fresh handles: the function may keep them, but not the memory they show.
      inputs[i] = py::reinterpret_steal<py::object>(THPVariable_Wrap(tensors_[i].detach()));
    }
    const std::vector<std::uint32_t> before = versions();
    const py::object result = (*function_)(*inputs);
    if (versions() != before) {
      throw std::invalid_argument("the replacement wrote to its arguments, which others read");
    }
    const py::tuple results = py::isinstance<py::tuple>(result)
                                  ? py::reinterpret_borrow<py::tuple>(result)
                                  : py::make_tuple(result);
    const std::size_t wanted = tensors_.size() - reads_;
    if (results.size() != wanted) {
      throw std::invalid_argument("the replacement returned " + std::to_string(results.size()) +
                                  " tensors, not " + std::to_string(wanted));
    }
    for (std::size_t k = 0; k < wanted; ++k) take(results[k].ptr(), tensors_[reads_ + k], k);
  }

  /// How often each argument was written to.
  [[nodiscard]] std::vector<std::uint32_t> versions() const {
    std::vector<std::uint32_t> counts;
    counts.reserve(reads_);
    for (std::size_t i = 0; i < reads_; ++i) counts.push_back(tensors_[i]._version());
    return counts;
  }

  static void take(PyObject* object, const at::Tensor& into, std::size_t k) {
    if (!THPVariable_Check(object)) {
      throw std::invalid_argument("result " + std::to_string(k) +
                                  " of the replacement is no tensor");
    }
    const at::Tensor& made = THPVariable_Unpack(object);
    if (made.sizes() != into.sizes() || made.scalar_type() != into.scalar_type()) {
      throw std::invalid_argument("result " + std::to_string(k) + " of the replacement is " +
                                  text(made) + ", not " + text(into));
    }
    into.copy_(made);
  }

  static std::string text(const at::Tensor& tensor) {
    std::string sizes;
    for (const std::int64_t size : tensor.sizes()) {
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    }
    return to_string(aten::to_dtype(tensor.scalar_type())) + "[" + sizes + "]";
  }

  Function function_;
  std::size_t reads_;
  std::vector<c10::Storage> storages_;
  std::vector<at::Tensor> tensors_;
};

class FunctionBody final : public Body {
 public:
  FunctionBody(Function function, std::vector<ChainOperand> operands)
      : function_(std::move(function)), operands_(std::move(operands)) {}

  [[nodiscard]] std::shared_ptr<BoundBody> bind(const BindArgs& args) const override {
    return std::make_shared<BoundFunction>(function_, operands_, args);
  }

 private:
  Function function_;
  std::vector<ChainOperand> operands_;
};

}  // namespace

std::shared_ptr<const Body> make_called(const py::function& function,
                                        std::vector<ChainOperand> operands) {
  return std::make_shared<const FunctionBody>(share(function), std::move(operands));
}

}  // namespace dynaflow::bindings

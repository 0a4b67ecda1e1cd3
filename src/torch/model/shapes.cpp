#include "torch/model/shapes.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <utility>

#include "torch/aten/operand.h"
#include "torch/aten/values.h"

namespace dynaflow::model {
namespace {

/// Of views that compute when they are read.
constexpr c10::DispatchKeySet kLazy({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});

}  // namespace

at::Tensor make_form(DType dtype, const std::vector<std::int64_t>& sizes,
                     const std::vector<std::int64_t>& strides) {
  std::int64_t bytes = size_of(dtype);
  for (const std::int64_t size : sizes) bytes *= size;
  return aten::make_tensor(aten::make_storage(bytes), dtype, sizes, strides, 0);
}

at::Tensor in_memory(const at::Tensor& form, const c10::Storage& memory) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(memory), c10::DispatchKeySet(c10::DispatchKey::CPU) | (form.key_set() & kLazy),
      form.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(form.sizes(), form.strides(),
                                                      form.storage_offset());
  return tensor;
}

at::Tensor view_through(const capture::Capture& capture, at::Tensor base,
                        const std::vector<cut::Views::Link>& chain,
                        std::span<const std::int64_t> symbols) {
  for (const cut::Views::Link& link : chain) {
    const capture::Call& call = capture.call(link.call);
    const auto handle = c10::Dispatcher::singleton().findSchema({call.op, call.overload});
    const aten::Scope scope{symbols, [&](capture::TensorId) { return base; }};
    torch::jit::Stack stack;
    for (std::size_t a = 0; a < call.arguments.size(); ++a) {
      stack.push_back(
          aten::to_ivalue(call.arguments[a], handle->schema().arguments()[a].real_type(), scope));
    }
    handle->callBoxed(stack);
    base = stack.front().isTensor() ? stack.front().toTensor()
                                    : stack.front().toTensorVector()[link.output];
  }
  return base;
}

}  // namespace dynaflow::model

#include "torch/aten/operand.h"

#include <c10/util/Exception.h>

#include "torch/aten/values.h"

namespace dynaflow::aten {

c10::Storage make_storage(std::int64_t bytes) {
  return c10::Storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(bytes),
                      c10::DataPtr(nullptr, c10::kCPU), nullptr, /*resizable=*/false);
}

void point(const c10::Storage& storage, std::byte* data) {
  storage.unsafeGetStorageImpl()->set_data_ptr_noswap(c10::DataPtr(data, c10::kCPU));
}

std::int64_t extent_of(const View& view) {
  return view.rows == 0 ? 0 : (view.blocks - 1) * view.block_stride + view.rows * view.row_stride;
}

at::Tensor make_tensor(const c10::Storage& storage, DType dtype,
                       const std::vector<std::int64_t>& sizes,
                       const std::vector<std::int64_t>& strides, std::int64_t offset_bytes) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(to_scalar_type(dtype)));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides,
                                                      offset_bytes / size_of(dtype));
  return tensor;
}

std::string message_of(const std::exception& failure) {
  if (const auto* error = dynamic_cast<const c10::Error*>(&failure)) {
    return error->what_without_backtrace();
  }
  const std::string said = failure.what();
  return said.empty() ? "failed in Python; its exception is the cause of this one" : said;
}

}  // namespace dynaflow::aten

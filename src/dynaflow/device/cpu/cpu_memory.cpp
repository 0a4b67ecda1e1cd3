#include "dynaflow/device/cpu/cpu_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace dynaflow {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register
constexpr std::size_t kHugePage = std::size_t{2} << 20;

struct Free {
  void operator()(std::byte* data) const { std::free(data); }
};
using Bytes = std::unique_ptr<std::byte, Free>;

class CpuMemory final : public DeviceMemory {
 public:
  CpuMemory(Bytes bytes, std::int64_t size) : bytes_(std::move(bytes)), size_(size) {}
  [[nodiscard]] std::byte* data() const override { return bytes_.get(); }
  [[nodiscard]] std::int64_t size() const override { return size_; }

 private:
  Bytes bytes_;
  std::int64_t size_;
};

Bytes allocate_bytes(std::int64_t bytes) {
  if (bytes < 0) return nullptr;
  const bool huge = static_cast<std::size_t>(bytes) >= kHugePage;
  const std::size_t alignment = huge ? kHugePage : kAlignment;
  // aligned_alloc takes whole multiples of the alignment; zero bytes get one, for a real address.
  const std::size_t size = (static_cast<std::size_t>(bytes) / alignment + 1) * alignment;
  Bytes data(static_cast<std::byte*>(std::aligned_alloc(alignment, size)));
  // Most kernels give huge pages only to who asks. Without them all is well, and a little slower.
  if (huge && data != nullptr) (void)::madvise(data.get(), size, MADV_HUGEPAGE);
  return data;
}

Diagnostic out_of_memory(std::int64_t bytes) {
  const std::string size = std::to_string(bytes) + " bytes";
  if (bytes < 0) return {kOutOfMemory, "cannot allocate " + size, "", "ask for zero bytes or more"};
  return {kOutOfMemory, "no " + size + " of host memory to be had", "",
          "split the batch into more micro-batches, or run it on a machine with more memory"};
}

}  // namespace

Result<std::unique_ptr<DeviceMemory>> allocate_host_memory(std::int64_t bytes) {
  Bytes data = allocate_bytes(bytes);
  if (data == nullptr) return Unexpected(Error(out_of_memory(bytes)));
  return std::make_unique<CpuMemory>(std::move(data), bytes);
}

}  // namespace dynaflow

#include "dynaflow/runtime/arena.h"

#include <utility>

namespace dynaflow {

Result<void> Arena::reserve(std::int64_t bytes) {
  if (memory_ && memory_->size() >= bytes) return {};
  auto fresh = device_.allocate(bytes);
  if (!fresh) return Unexpected(fresh.error());
  memory_ = std::move(*fresh);
  return {};
}

}  // namespace dynaflow

#include "torch/aten/scratch.h"

#include <algorithm>
#include <map>

#include "import/cut/layout.h"
#include "torch/aten/aten_body.h"
#include "torch/aten/values.h"

namespace dynaflow::aten {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Bytes in use, by where they begin.
class InUse {
 public:
  std::int64_t take(std::int64_t bytes, std::uint32_t until) {
    std::int64_t at = 0;
    for (const auto& [begin, block] : blocks_) {
      if (begin - at >= bytes) break;
      at = std::max(at, begin + block.bytes);
    }
    if (bytes > 0) blocks_[at] = {bytes, until};
    end_ = std::max(end_, at + bytes);
    return at;
  }
  void free_before(std::uint32_t call) {
    std::erase_if(blocks_, [&](const auto& entry) { return entry.second.until < call; });
  }
  [[nodiscard]] std::int64_t end() const { return end_; }

 private:
  struct Block {
    std::int64_t bytes = 0;
    std::uint32_t until = 0;
  };
  std::map<std::int64_t, Block> blocks_;
  std::int64_t end_ = 0;
};

std::int64_t bytes_of(const AtenBody& body, const AtenBody::Slot& slot,
                      const std::vector<std::int64_t>& symbols) {
  const capture::Tensor& tensor = body.cut().capture().tensor(slot.tensor);
  std::int64_t elements = 1;
  for (const Extent& size : tensor.sizes) elements *= size.evaluate(symbols);
  return aligned(elements * size_of(tensor.dtype));
}

}  // namespace

Scratch make_scratch(const AtenBody& body, const BindArgs& args) {
  const std::vector<std::int64_t> symbols = body.symbols(args);
  const auto& slots = body.slots();
  Scratch scratch;
  scratch.offsets.assign(slots.size(), -1);
  InUse in_use;
  const auto last_call = static_cast<std::uint32_t>(body.instructions().size());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (slots[s].place != AtenBody::Place::kOperand) continue;
    if (is_dense(args.views[slots[s].operand])) continue;
    scratch.offsets[s] = in_use.take(bytes_of(body, slots[s], symbols), last_call);
  }
  for (std::uint32_t i = 0; i < body.instructions().size(); ++i) {
    in_use.free_before(i);
    for (const std::uint32_t s : body.instructions()[i].outputs) {
      if (s == AtenBody::kNoSlot || slots[s].place != AtenBody::Place::kScratch) continue;
      if (slots[s].first != i) continue;
      scratch.offsets[s] = in_use.take(bytes_of(body, slots[s], symbols), slots[s].last);
    }
  }
  scratch.bytes = in_use.end();
  return scratch;
}

}  // namespace dynaflow::aten

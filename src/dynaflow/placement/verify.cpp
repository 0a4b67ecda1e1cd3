#include "dynaflow/placement/verify.h"

#include <algorithm>
#include <limits>
#include <map>

#include "dynaflow/placement/hazards.h"

namespace dynaflow {
PlacementVerifier::PlacementVerifier(const Graph& graph, const Plan& plan, const Buffers& buffers,
                                     const HappensBefore& hb)
    : graph_(graph),
      plan_(plan),
      buffers_(buffers),
      hb_(hb),
      first_known_(buffers.items.size() * hb.lanes(), std::numeric_limits<std::uint32_t>::max()),
      last_use_(buffers.items.size() * hb.lanes(), 0) {
  one_buffer_each_ = has_one_buffer_each();
  for (const StepId id : hb.order()) {
    const Step& step = plan.steps[id.index];
    for (std::uint32_t i = 0; i < step.operands.count; ++i) {
      note_use(id, buffers.of_operand[step.operands.first + i]);
    }
    if (buffers.scratch[id.index].valid()) note_use(id, buffers.scratch[id.index]);
  }
}

void PlacementVerifier::note_use(StepId step, BufferId buffer) {
  const std::size_t lanes = hb_.lanes();
  const std::size_t row = buffer.index * lanes;
  const std::span<const std::uint32_t> ends(last_use_.data() + row, lanes);
  const bool seen = std::ranges::any_of(ends, [](std::uint32_t end) { return end != 0; });
  const Buffer& item = buffers_.items[buffer.index];
  const bool ours = !item.storage.valid() || graph_.storage(item.storage).memory == Memory::kArena;
  if (ours && !seen) by_first_use_.push_back(buffer);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::uint32_t& known = first_known_[row + lane];
    known = std::min(known, hb_.known_at(step)[lane]);
  }
  std::uint32_t& last = last_use_[row + hb_.lane(step)];
  last = std::max(last, hb_.position(step) + 1);
}

/// Every operand is in a buffer of its own storage that holds the step's micro-batches, and no two
/// buffers of a storage hold the same one; scratch belongs to one step.
bool PlacementVerifier::has_one_buffer_each() const {
  const std::uint32_t mbs = plan_.microbatches();
  std::vector<BufferId> holder(graph_.storages().size() * mbs);
  for (std::size_t i = 0; i < buffers_.items.size(); ++i) {
    if (!buffers_.items[i].storage.valid()) continue;
    for (const Microbatch mb : buffers_.items[i].microbatches) {
      BufferId& held = holder[std::size_t{buffers_.items[i].storage.index} * mbs + mb.index];
      if (held.valid()) return false;
      held = id_at<BufferId>(i);
    }
  }
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Step& step = plan_.steps[s];
    const BufferId scratch = buffers_.scratch[s];
    if (scratch.valid() && buffers_.items[scratch.index].scratch_of != id_at<StepId>(s)) {
      return false;
    }
    for (std::uint32_t i = 0; i < step.operands.count; ++i) {
      const StorageId storage = graph_.value(plan_.operands(step)[i].value).storage;
      const BufferId buffer = buffers_.of_operand[step.operands.first + i];
      for (const Microbatch mb : step.microbatches) {
        if (holder[std::size_t{storage.index} * mbs + mb.index] != buffer) return false;
      }
    }
  }
  return true;
}

bool PlacementVerifier::apart(BufferId earlier, BufferId later) const {
  const std::size_t lanes = hb_.lanes();
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (last_use_[earlier.index * lanes + lane] > first_known_[later.index * lanes + lane]) {
      return false;
    }
  }
  return true;
}

bool PlacementVerifier::views_are_slices(const Placement& placement) const {
  const std::int64_t batch = placement.row_starts.back();
  for (const Step& step : plan_.steps) {
    const std::int64_t from = placement.row_starts[step.microbatches.first];
    const std::int64_t to = placement.row_starts[step.microbatches.last];
    for (std::uint32_t i = step.operands.first; i < step.operands.first + step.operands.count;
         ++i) {
      const Value& value = graph_.value(plan_.step_operands[i].value);
      const Storage& storage = graph_.storage(value.storage);
      if (storage.memory == Memory::kUnplaced) continue;
      const Buffer& buffer = buffers_.items[buffers_.of_operand[i].index];
      const bool split = storage.kind == Kind::kSplit;
      const std::int64_t rows = split ? to - from : storage.kind == Kind::kCoupled ? batch : 1;
      const std::int64_t skipped =
          split ? from - placement.row_starts[buffer.microbatches.first] : 0;
      const PlacedView& view = placement.views[i];
      const auto [row_bytes, blocks] = placement.storages[value.storage.index];
      const std::int64_t stride = blocks == 0 ? 0 : row_bytes / blocks;
      const std::int64_t held = !split ? rows
                                       : placement.row_starts[buffer.microbatches.last] -
                                             placement.row_starts[buffer.microbatches.first];
      if (view.rows != rows || view.offset != skipped * stride + value.offset ||
          skipped + rows > held ||
          held * row_bytes > placement.sizes[buffers_.of_operand[i].index] ||
          (blocks != 1 && view.block_stride != held * stride)) {
        return false;
      }
    }
  }
  return true;
}

/// Buffers take their bytes in order of first use; whoever held them before must be done. Looking
/// at the last holder of a byte is enough, for being apart is transitive.
bool PlacementVerifier::neighbours_are_apart(const Placement& placement) const {
  struct Holder {
    std::int64_t end;
    BufferId buffer;
  };
  std::map<std::int64_t, Holder> held;  // by begin
  for (const BufferId buffer : by_first_use_) {
    const std::int64_t begin = placement.offsets[buffer.index];
    const std::int64_t end = begin + placement.sizes[buffer.index];
    if (begin < 0 || end > placement.arena_bytes) return false;
    if (begin == end) continue;
    auto at = held.upper_bound(begin);
    if (at != held.begin() && std::prev(at)->second.end > begin) --at;
    while (at != held.end() && at->first < end) {
      const auto [from, holder] = *at;
      if (!apart(holder.buffer, buffer)) return false;
      at = held.erase(at);
      if (from < begin) held.emplace(from, Holder{begin, holder.buffer});
      if (holder.end > end) at = held.emplace(end, holder).first;
    }
    held.emplace(begin, Holder{end, buffer});
  }
  return true;
}

/// Nothing else is worth a look where the numbers are not the graph's.
std::vector<Diagnostic> PlacementVerifier::wrong_sizes(const Placement& placement) const {
  std::vector<Diagnostic> findings;
  for (std::size_t i = 0; i < graph_.storages().size(); ++i) {
    const Storage& storage = graph_.storages()[i];
    if (i < placement.storages.size() &&
        placement.storages[i].row_bytes == storage.row_bytes.evaluate(placement.symbols) &&
        placement.storages[i].blocks == storage.blocks.evaluate(placement.symbols)) {
      continue;
    }
    findings.push_back({kViewOutsideBuffer, "'" + storage.name + "' is placed in another size",
                        "placement of " + plan_.strategy, "place for the graph's own sizes"});
  }
  return findings;
}

std::vector<Diagnostic> PlacementVerifier::verify(const Placement& placement) const {
  if (auto findings = wrong_sizes(placement); !findings.empty()) return findings;
  if (one_buffer_each_ && views_are_slices(placement) && neighbours_are_apart(placement)) return {};
  std::vector<Diagnostic> findings;
  for (const Hazard& hazard : find_hazards(graph_, plan_, buffers_, placement, hb_)) {
    const bool outside = hazard.what == Hazard::What::kOutOfBounds;
    findings.push_back({outside ? kViewOutsideBuffer : kLiveOverlap,
                        describe(graph_, plan_, hazard), "placement of " + plan_.strategy,
                        outside ? "place views within their buffers"
                                : "let only buffers share whose uses are ordered"});
  }
  return findings;
}

}  // namespace dynaflow

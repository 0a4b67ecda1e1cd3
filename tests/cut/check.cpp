#include "cut/check.h"

#include <algorithm>
#include <map>
#include <set>

#include "support/counting_body.h"

namespace dynaflow::cut {
namespace {

using capture::Call;
using capture::CallId;
using capture::Capture;
using capture::TensorId;
using Runs = rows::CallRows::Runs;
using Kind = rows::Carry::Kind;

bool looks_only(const Call& call) {
  const bool aliases = !call.aliases.empty() || call.op == "aten::_unsafe_view";
  return aliases && call.writes.empty() && call.updates.empty();
}

class Check {
 public:
  explicit Check(const Cut& cut) : cut_(cut), capture_(cut.capture()) {
    find_memory();
    find_regions();
  }

  std::string fault() {
    if (fault_.empty()) check_order();
    if (fault_.empty()) check_operands();
    if (fault_.empty()) check_runs();
    if (fault_.empty()) check_prologue();
    if (fault_.empty()) check_locals();
    return fault_;
  }

 private:
  void blame(const std::string& what) {
    if (fault_.empty()) fault_ = what;
  }
  [[nodiscard]] std::string text(std::size_t call) const {
    return to_string(capture_, capture_.calls[call]);
  }

  void find_memory() {
    for (std::uint32_t t = 0; t < capture_.tensors.size(); ++t) memory_.push_back(t);
    for (const Call& call : capture_.calls) {
      for (const Call::Alias& alias : call.aliases) {
        share(call.outputs[alias.output], call.arguments[alias.argument].tensor());
      }
      for (const Call::Update& update : call.updates) {
        share(call.outputs[update.output], update.tensor);
      }
      if (call.op == "aten::_unsafe_view") share(call.outputs[0], call.arguments[0].tensor());
    }
  }
  void share(TensorId output, std::optional<TensorId> of) {
    if (output.valid() && of) memory_[output.index] = memory_[of->index];
  }

  void find_regions() {
    region_.assign(capture_.calls.size(), kNone);
    for (std::size_t r = 0; r < cut_.regions.size(); ++r) {
      const auto& calls = cut_.regions[r].calls;
      if (!std::ranges::is_sorted(calls)) blame(cut_.regions[r].name + " is out of order");
      for (const CallId id : calls) {
        if (looks_only(capture_.call(id))) continue;
        if (region_[id.index] != kNone) blame(text(id.index) + " is in two regions");
        region_[id.index] = r;
      }
    }
    for (std::size_t c = 0; c < region_.size(); ++c) {
      if (region_[c] == kNone && !looks_only(capture_.calls[c])) blame(text(c) + " is nowhere");
    }
  }

  /// Each conflicting pair of calls, in program order, is in program order of regions.
  void check_order() {
    std::map<std::uint32_t, std::vector<std::size_t>> readers;
    std::map<std::uint32_t, std::vector<std::size_t>> writers;
    std::size_t drawn = 0;
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) {
      const Call& call = capture_.calls[c];
      if (looks_only(call)) continue;
      const auto after = [&](const std::vector<std::size_t>& others) {
        for (const std::size_t other : others) {
          if (region_[other] > region_[c]) blame(text(c) + " runs before " + text(other));
        }
      };
      for_each_input(call, [&](TensorId t) { after(writers[memory_[t.index]]); });
      for (const std::uint32_t written : call.writes) {
        capture::for_each_tensor(call.arguments[written], [&](TensorId t) {
          after(readers[memory_[t.index]]);
          writers[memory_[t.index]].push_back(c);
        });
      }
      for_each_input(call, [&](TensorId t) { readers[memory_[t.index]].push_back(c); });
      for (const TensorId output : call.outputs) {
        if (output.valid()) writers[memory_[output.index]].push_back(c);
      }
      if (cut_.rows.calls[c].runs != Runs::kDrawn) continue;
      if (region_[c] < drawn) blame(text(c) + " draws too early");
      drawn = region_[c];
    }
  }

  void check_operands() {
    std::set<std::uint32_t> there;
    for (const capture::Input& input : capture_.inputs) {
      if (input.tensor.valid()) there.insert(input.tensor.index);
    }
    for (const Region& region : cut_.regions) {
      std::set<std::uint32_t> inside = there;
      for (const TensorId read : region.reads) {
        if (!there.contains(read.index)) blame(region.name + " reads what is not there");
      }
      for (const TensorId updated : region.updates) {
        if (!there.contains(updated.index)) blame(region.name + " updates what is not there");
      }
      check_inside(region);
      for (const TensorId written : region.writes) {
        if (!there.insert(written.index).second) blame(region.name + " writes what others wrote");
      }
    }
    for (const capture::Output& output : capture_.outputs) {
      if (output.tensor.valid() && !there.contains(memory_[output.tensor.index])) {
        blame(capture_.tensor(output.tensor).name + " is given back, but no region writes it");
      }
    }
  }

  /// Every memory that the region's calls touch is an operand or its own.
  void check_inside(const Region& region) {
    std::set<std::uint32_t> known;
    std::set<std::uint32_t> seen;  // tensors, views included
    for (const auto* operands : {&region.reads, &region.updates}) {
      for (const TensorId tensor : *operands) {
        known.insert(tensor.index);
        seen.insert(tensor.index);
      }
    }
    for (const CallId id : region.calls) {
      const Call& call = capture_.call(id);
      for_each_input(call, [&](TensorId t) {
        if (!known.contains(memory_[t.index])) blame(region.name + " lacks an operand");
        const bool written_form = t.index != memory_[t.index] && !made_by_view(t);
        if (!seen.contains(t.index) && !written_form) blame(region.name + " lacks a view");
      });
      for (const TensorId output : call.outputs) {
        if (!output.valid()) continue;
        if (memory_[output.index] == output.index) known.insert(output.index);
        seen.insert(output.index);
      }
    }
  }
  [[nodiscard]] bool made_by_view(TensorId tensor) const {
    return std::ranges::any_of(capture_.calls, [&](const Call& call) {
      return looks_only(call) && std::ranges::find(call.outputs, tensor) != call.outputs.end();
    });
  }

  void check_runs() {
    for (const Region& region : cut_.regions) {
      if (region.runs == RunsPer::kBatch) continue;
      for (const CallId id : region.calls) {
        if (looks_only(capture_.call(id))) continue;
        if (cut_.rows.calls[id.index].runs != Runs::kRowWise) {
          blame(region.name + " runs " + text(id.index) + " per micro-batch");
        }
      }
      for (const TensorId written : region.writes) {
        if (cut_.rows.tensors[written.index].kind != Kind::kSplit) {
          blame(region.name + " gives away what has no rows");
        }
      }
    }
  }

  void check_prologue() {
    for (const Region& region : cut_.regions) {
      if (region.name != "prologue") continue;
      if (!region.updates.empty() || !region.group.empty()) blame("the prologue is not pure");
      for (const CallId id : region.calls) {
        const Call& call = capture_.call(id);
        if (call.op.starts_with("_c10d_functional::")) blame("the prologue communicates");
        if (!call.writes.empty()) blame("the prologue writes");
      }
    }
  }

  /// Users of a local tensor, and of one whose size only a run knows, are where it is made.
  void check_locals() {
    std::map<std::uint32_t, std::size_t> home;
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) {
      const Call& call = capture_.calls[c];
      if (looks_only(call)) continue;
      const auto meet = [&](TensorId t) {
        if (!stays_inside(t)) return;
        const std::size_t there = home.try_emplace(memory_[t.index], region_[c]).first->second;
        if (there != region_[c]) blame(text(c) + " is not where its local tensors are");
      };
      for_each_input(call, meet);
      for (const TensorId output : call.outputs) {
        if (output.valid()) meet(output);
      }
    }
  }
  [[nodiscard]] bool stays_inside(TensorId tensor) const {
    if (cut_.rows.tensors[tensor.index].kind == Kind::kLocal) return true;
    return std::ranges::any_of(capture_.tensor(tensor).sizes,
                               [&](const Extent& size) { return capture_.depends_on_data(size); });
  }

  static constexpr std::size_t kNone = SIZE_MAX;

  const Cut& cut_;
  const Capture& capture_;
  std::vector<std::uint32_t> memory_;  ///< per tensor: the tensor whose memory it is
  std::vector<std::size_t> region_;    ///< per call
  std::string fault_;
};

}  // namespace

std::string fault_of(const Cut& cut) { return Check(cut).fault(); }

std::string region_of(const Cut& cut, TensorId tensor) {
  for (const Region& region : cut.regions) {
    for (const CallId id : region.calls) {
      const Call& call = cut.capture().call(id);
      if (looks_only(call)) continue;
      if (std::ranges::find(call.outputs, tensor) != call.outputs.end()) return region.name;
    }
  }
  return "";
}

const Region& region_named(const Cut& cut, const std::string& name) {
  static const Region kNothing;
  const auto at = std::ranges::find(cut.regions, name, &Region::name);
  return at == cut.regions.end() ? kNothing : *at;
}

std::vector<std::string> region_names(const Cut& cut) {
  std::vector<std::string> names;
  names.reserve(cut.regions.size());
  for (const Region& region : cut.regions) names.push_back(region.name);
  return names;
}

Result<CutGraph> graph_of(const Cut& cut) {
  return make_graph(cut, [](const Cut&, const Region&) {
    return std::make_shared<dynaflow::testing::CountingBody>([](const KernelArgs&) {});
  });
}

}  // namespace dynaflow::cut

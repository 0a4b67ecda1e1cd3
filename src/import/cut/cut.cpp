#include "import/cut/cut.h"

#include <algorithm>
#include <map>
#include <set>

#include "import/cut/regions.h"
#include "import/cut/shown.h"
#include "import/cut/structure.h"

namespace dynaflow::cut {
namespace {

using capture::Call;
using capture::CallId;
using capture::Capture;
using capture::Input;
using capture::TensorId;

/// A set that remembers the order in which its members came.
class OrderedSet {
 public:
  void add(TensorId tensor) {
    if (seen_.insert(tensor).second) order_.push_back(tensor);
  }
  [[nodiscard]] bool has(TensorId tensor) const { return seen_.contains(tensor); }
  [[nodiscard]] const std::vector<TensorId>& order() const { return order_; }

 private:
  std::set<TensorId> seen_;
  std::vector<TensorId> order_;
};

/// Who uses each base tensor, by draft; outputs of the capture count as one more user.
std::vector<std::set<std::size_t>> find_users(const Capture& capture, const Views& views,
                                              const std::vector<Draft>& drafts) {
  std::vector<std::set<std::size_t>> users(capture.tensors.size());
  for (std::size_t d = 0; d < drafts.size(); ++d) {
    for (const CallId id : drafts[d].calls) {
      for_each_input(capture.call(id),
                     [&](TensorId tensor) { users[views.base[tensor.index].index].insert(d); });
    }
  }
  for (const capture::Output& output : capture.outputs) {
    if (output.tensor.valid()) users[views.base[output.tensor.index].index].insert(drafts.size());
  }
  return users;
}

class RegionMaker {
 public:
  RegionMaker(const Capture& capture, const Views& views, const std::vector<Draft>& drafts)
      : capture_(capture), views_(views), users_(find_users(capture, views, drafts)) {}

  Region make(const Draft& draft, std::size_t index) {
    Region region;
    region.name = unique(draft.label.name);
    region.tags = draft.label.tags;
    region.runs = draft.runs;
    region.runs_reason = draft.runs_reason;
    OrderedSet own;
    OrderedSet reads;
    OrderedSet updates;
    std::set<CallId> calls(draft.calls.begin(), draft.calls.end());
    for (const CallId id : draft.calls) {
      const Call& call = capture_.call(id);
      for_each_input(call, [&](TensorId tensor) {
        for (const auto& link : views_.chain(capture_, tensor)) calls.insert(link.call);
        const TensorId base = views_.base[tensor.index];
        if (!own.has(base)) reads.add(base);
      });
      for (const std::uint32_t written : call.writes) {
        capture::for_each_tensor(call.arguments[written], [&](TensorId tensor) {
          if (!own.has(views_.base[tensor.index])) updates.add(views_.base[tensor.index]);
        });
      }
      for (const TensorId output : call.outputs) {
        if (output.valid() && views_.base[output.index] == output) own.add(output);
      }
      if (is_collective(call)) region.group = group_of(call);
    }
    region.calls.assign(calls.begin(), calls.end());
    region.updates = updates.order();
    for (const TensorId tensor : reads.order()) {
      if (!updates.has(tensor)) region.reads.push_back(tensor);
    }
    std::ranges::stable_sort(region.reads, {}, [&](TensorId read) { return rank(read); });
    for (const TensorId tensor : own.order()) {
      const auto& users = users_[tensor.index];
      const bool leaves = std::ranges::any_of(users, [&](auto user) { return user != index; });
      if (leaves) region.writes.push_back(tensor);
    }
    return region;
  }

 private:
  /// What a replacement would call its arguments: what is computed first, then what the model
  /// holds, as the model names it (a weight before its bias).
  [[nodiscard]] std::size_t rank(TensorId tensor) const {
    const auto input = std::ranges::find(capture_.inputs, tensor, &Input::tensor);
    if (input == capture_.inputs.end() || input->role == Input::Role::kArgument) return 0;
    return 1 + static_cast<std::size_t>(input - capture_.inputs.begin());
  }

  std::string unique(const std::string& name) {
    const std::uint32_t count = ++names_[name];
    return count == 1 ? name : name + "#" + std::to_string(count);
  }

  /// The process group's name: the collective's last string argument.
  static std::string group_of(const Call& call) {
    std::string group = "world";
    for (const capture::Argument& argument : call.arguments) {
      if (const auto* text = std::get_if<std::string>(&argument.value)) group = *text;
    }
    return group;
  }

  const Capture& capture_;
  const Views& views_;
  std::vector<std::set<std::size_t>> users_;
  std::map<std::string, std::uint32_t> names_;
};

}  // namespace

Cut make_cut(rows::Rows rows, const std::vector<Rule>& rules) {
  Cut cut;
  cut.rows = std::move(rows);
  const Views views(cut.capture());
  const Labels labels = make_labels(cut.capture(), rules);
  cut.warnings = cut.rows.warnings;
  cut.warnings.insert(cut.warnings.end(), labels.warnings.begin(), labels.warnings.end());
  cut.base = views.base;
  cut.shown = find_shown(cut.capture(), views);
  const std::vector<Draft> drafts = make_drafts(cut.rows, views, labels);
  RegionMaker maker(cut.capture(), views, drafts);
  for (std::size_t d = 0; d < drafts.size(); ++d) cut.regions.push_back(maker.make(drafts[d], d));

  std::map<std::string, std::uint32_t> bodies;
  for (Region& region : cut.regions) {
    const auto next = static_cast<std::uint32_t>(bodies.size());
    region.body = bodies.try_emplace(structure_of(cut, region), next).first->second;
  }
  cut.bodies = static_cast<std::uint32_t>(bodies.size());
  return cut;
}

std::string to_string(const Cut& cut) {
  const Capture& capture = cut.capture();
  std::vector<std::string> names;
  names.reserve(capture.tensors.size());
  for (const capture::Tensor& tensor : capture.tensors) names.push_back(tensor.name);
  for (const Input& input : capture.inputs) {
    if (input.tensor.valid()) names[input.tensor.index] = input.name;
  }
  const auto list = [&](const std::vector<TensorId>& tensors) {
    std::string text;
    for (const TensorId id : tensors) {
      text += (text.empty() ? "" : ", ") + names[id.index] + " " +
              to_string(capture, capture.tensor(cut.shown[id.index]));
    }
    return text;
  };
  std::string text = "cut  " + std::to_string(cut.regions.size()) + " regions, " +
                     std::to_string(cut.bodies) + " distinct\n";
  for (const Region& region : cut.regions) {
    text += "  " + region.name + "  body " + std::to_string(region.body) + ", " +
            std::to_string(region.calls.size()) + " calls";
    if (region.runs == RunsPer::kBatch) text += "  once per batch: " + region.runs_reason;
    for (const std::string& tag : region.tags) text += "  #" + tag;
    text += "\n    (" + list(region.reads) + ") -> (" + list(region.writes) + ")";
    if (!region.updates.empty()) text += " updates (" + list(region.updates) + ")";
    text += '\n';
  }
  return text;
}

}  // namespace dynaflow::cut

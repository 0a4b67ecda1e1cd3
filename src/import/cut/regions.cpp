#include "import/cut/regions.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "dynaflow/base/check.h"

namespace dynaflow::cut {
namespace {

using capture::Call;
using capture::CallId;
using capture::TensorId;
using Runs = rows::CallRows::Runs;

constexpr std::uint32_t kNone = UINT32_MAX;

/// Which calls must stay in one region: they share local tensors, or tensors whose size only the
/// call that makes them knows.
class Together {
 public:
  Together(const rows::Rows& rows, const Views& views) : parent_(rows.capture.calls.size()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
    std::map<std::uint32_t, std::uint32_t> first_of_group;
    std::vector<std::uint32_t> first_user(rows.capture.tensors.size(), kNone);
    for (std::uint32_t c = 0; c < parent_.size(); ++c) {
      const Call& call = rows.capture.calls[c];
      if (is_view(call)) continue;
      const std::uint32_t group = rows.calls[c].group;
      if (group != rows::CallRows::kNoGroup) {
        unite(c, first_of_group.try_emplace(group, c).first->second);
      }
      const auto meet = [&](TensorId tensor) {
        const TensorId base = views.base[tensor.index];
        if (!stays_inside(rows, tensor) && !stays_inside(rows, base)) return;
        std::uint32_t& user = first_user[base.index];
        if (user == kNone) user = c;
        unite(c, user);
      };
      for_each_input(call, meet);
      for (const TensorId output : call.outputs) {
        if (output.valid()) meet(output);
      }
    }
  }

  [[nodiscard]] std::uint32_t of(std::uint32_t call) const {
    while (parent_[call] != call) call = parent_[call];
    return call;
  }
  [[nodiscard]] bool alone(std::uint32_t call) const {
    return of(call) == call && members_[call] == 1;
  }

 private:
  static bool stays_inside(const rows::Rows& rows, TensorId tensor) {
    if (rows.tensors[tensor.index].kind == rows::Carry::Kind::kLocal) return true;
    return std::ranges::any_of(rows.capture.tensor(tensor).sizes, [&](const Extent& size) {
      return rows.capture.depends_on_data(size);
    });
  }

  void unite(std::uint32_t a, std::uint32_t b) {
    a = of(a);
    b = of(b);
    if (a == b) return;
    parent_[std::max(a, b)] = std::min(a, b);
    members_[std::min(a, b)] += members_[std::max(a, b)];
  }

  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> members_ = std::vector<std::uint32_t>(parent_.size(), 1);
};

/// Sets of region numbers.
class Ancestors {
 public:
  void add_region() { sets_.emplace_back(); }
  [[nodiscard]] bool has(std::uint32_t region, std::uint32_t ancestor) const {
    const auto& words = sets_[region];
    return ancestor / 64 < words.size() && (words[ancestor / 64] >> (ancestor % 64) & 1) != 0;
  }
  /// `before` and all before it now precede `region` and all after it.
  void precede(std::uint32_t region, std::uint32_t before) {
    std::vector<std::uint64_t> added = sets_[before];
    set(added, before);
    for (std::uint32_t r = 0; r < sets_.size(); ++r) {
      if (r == region || has(r, region)) unite(sets_[r], added);
    }
  }

 private:
  static void set(std::vector<std::uint64_t>& words, std::uint32_t bit) {
    if (words.size() <= bit / 64) words.resize(bit / 64 + 1);
    words[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  static void unite(std::vector<std::uint64_t>& words, const std::vector<std::uint64_t>& added) {
    if (words.size() < added.size()) words.resize(added.size());
    for (std::size_t i = 0; i < added.size(); ++i) words[i] |= added[i];
  }

  std::vector<std::vector<std::uint64_t>> sets_;
};

class Dealer {
 public:
  Dealer(const rows::Rows& rows, const Views& views, const Labels& labels)
      : rows_(rows),
        labels_(labels),
        before_(find_dependencies(rows.capture, views, rows)),
        together_(rows, views),
        region_of_(rows.capture.calls.size(), kNone) {
    find_prologue(views);
  }

  std::vector<Draft> deal() {
    for (std::uint32_t c = 0; c < region_of_.size(); ++c) {
      if (!is_view(rows_.capture.calls[c])) place(c);
    }
    return finish();
  }

 private:
  /// Calls that need no rows, made from inputs alone.
  void find_prologue(const Views& views) {
    prologue_.resize(region_of_.size());
    for (std::size_t c = 0; c < prologue_.size(); ++c) {
      const Call& call = rows_.capture.calls[c];
      if (is_view(call) || rows_.calls[c].runs != Runs::kOnce || !call.writes.empty()) continue;
      if (is_collective(call) || !together_.alone(static_cast<std::uint32_t>(c))) continue;
      prologue_[c] =
          std::ranges::all_of(before_[c], [&](CallId other) { return prologue_[other.index]; });
    }
    static_cast<void>(views);
  }

  [[nodiscard]] bool runs_once(std::uint32_t c) const {
    if (rows_.calls[c].runs != Runs::kRowWise) return true;
    const Call& call = rows_.capture.calls[c];
    return std::ranges::any_of(call.outputs, [&](TensorId output) {
      return output.valid() && rows_.tensors[output.index].kind == rows::Carry::Kind::kPartial;
    });
  }

  /// The label under which a call looks for its region.
  [[nodiscard]] Label label_of(std::uint32_t c) const {
    if (prologue_[c]) return {"prologue", "prologue", {}};
    const std::uint32_t leader = together_.of(c);
    Label label = labels_.calls[leader];
    if (!together_.alone(c)) {
      if (label.key.empty())
        label = {"together:" + std::to_string(leader), default_name(leader), {}};
      return label;
    }
    if (runs_once(c)) label.key = "merged:" + label.key;
    if (label.name.empty()) label.name = default_name(c);
    return label;
  }

  [[nodiscard]] std::string default_name(std::uint32_t c) const {
    const Call& call = rows_.capture.calls[c];
    return call.modules.empty() ? "top" : call.modules.back().path;
  }

  [[nodiscard]] std::vector<std::uint32_t> regions_before(std::uint32_t c) const {
    std::vector<std::uint32_t> regions;
    for (const CallId other : before_[c]) regions.push_back(find(region_of_[other.index]));
    return regions;
  }

  void place(std::uint32_t c) {
    const Label label = label_of(c);
    const std::vector<std::uint32_t> before = regions_before(c);
    const std::uint32_t leader = together_.of(c);
    const bool follows = leader != c;  // then it must be where its leader is
    const auto at = open_.find(label.key);
    std::uint32_t region = at == open_.end() ? kNone : find(at->second);
    if (follows) region = find(region_of_[leader]);
    const auto closes_circle = [&](std::uint32_t other) {
      return other != region && ancestors_.has(other, region);
    };
    if (region != kNone && std::ranges::any_of(before, closes_circle)) {
      if (follows) {
        absorb(region, before);
      } else {
        region = kNone;
      }
    }
    if (region == kNone) region = open(label, runs_once(c));
    join(region, c, before);
  }

  std::uint32_t open(const Label& label, bool once) {
    const auto region = static_cast<std::uint32_t>(drafts_.size());
    drafts_.push_back({{}, label, once ? RunsPer::kBatch : RunsPer::kMicrobatch, {}});
    merged_into_.push_back(region);
    ancestors_.add_region();
    open_[label.key] = region;
    return region;
  }

  void join(std::uint32_t region, std::uint32_t c, const std::vector<std::uint32_t>& before) {
    region_of_[c] = region;
    Draft& draft = drafts_[region];
    draft.calls.push_back(id_at<CallId>(c));
    if (runs_once(c)) {
      draft.runs = RunsPer::kBatch;
      if (draft.runs_reason.empty()) draft.runs_reason = rows_.calls[c].reason;
    }
    for (const std::uint32_t other : before) {
      if (find(other) != region && !ancestors_.has(region, other))
        ancestors_.precede(region, other);
    }
  }

  /// Takes over the regions between `region` and those in `before`, so that they are one.
  void absorb(std::uint32_t region, const std::vector<std::uint32_t>& before) {
    for (std::uint32_t r = 0; r < drafts_.size(); ++r) {
      if (merged_into_[r] != r || r == region || !ancestors_.has(r, region)) continue;
      const bool between = std::ranges::any_of(
          before, [&](std::uint32_t other) { return other == r || ancestors_.has(other, r); });
      if (!between) continue;
      merged_into_[r] = region;
      Draft& from = drafts_[r];
      drafts_[region].calls.insert(drafts_[region].calls.end(), from.calls.begin(),
                                   from.calls.end());
      if (from.runs == RunsPer::kBatch) {
        drafts_[region].runs = RunsPer::kBatch;
        drafts_[region].runs_reason = from.runs_reason;
      }
      from.calls.clear();
    }
    rebuild_ancestors();
  }

  void rebuild_ancestors() {
    ancestors_ = {};
    for (std::size_t r = 0; r < drafts_.size(); ++r) ancestors_.add_region();
    for (std::uint32_t c = 0; c < region_of_.size(); ++c) {
      if (region_of_[c] == kNone) continue;
      const std::uint32_t region = find(region_of_[c]);
      for (const std::uint32_t other : regions_before(c)) {
        if (other != region && !ancestors_.has(region, other)) ancestors_.precede(region, other);
      }
    }
  }

  [[nodiscard]] std::uint32_t find(std::uint32_t region) const {
    while (merged_into_[region] != region) region = merged_into_[region];
    return region;
  }

  /// The regions that are left, each after those it needs, otherwise in program order.
  std::vector<Draft> finish() {
    std::vector<std::uint32_t> left;
    for (std::uint32_t r = 0; r < drafts_.size(); ++r) {
      std::ranges::sort(drafts_[r].calls);
      if (!drafts_[r].calls.empty()) left.push_back(r);
    }
    std::ranges::sort(left, {}, [&](std::uint32_t r) { return drafts_[r].calls.front(); });
    std::vector<Draft> ordered;
    while (!left.empty()) {
      const auto ready = std::ranges::find_if(left, [&](std::uint32_t r) {
        return std::ranges::none_of(left, [&](auto other) { return ancestors_.has(r, other); });
      });
      DYNAFLOW_CHECK(ready != left.end());
      ordered.push_back(std::move(drafts_[*ready]));
      left.erase(ready);
    }
    return ordered;
  }

  const rows::Rows& rows_;
  const Labels& labels_;
  std::vector<std::vector<CallId>> before_;
  Together together_;
  std::vector<std::uint32_t> region_of_;
  std::vector<char> prologue_;
  std::vector<Draft> drafts_;
  std::vector<std::uint32_t> merged_into_;  ///< per region: itself, or who absorbed it
  std::map<std::string, std::uint32_t> open_;
  Ancestors ancestors_;
};

}  // namespace

std::vector<Draft> make_drafts(const rows::Rows& rows, const Views& views, const Labels& labels) {
  return Dealer(rows, views, labels).deal();
}

}  // namespace dynaflow::cut

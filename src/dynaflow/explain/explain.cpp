#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "dynaflow/explain/explanation.h"

namespace dynaflow {
namespace {

using Span = Timeline::Span;

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// A timeline's steps by number, with what had to end before each could begin: the step before it
/// on its lane and those it waited for.
class Steps {
 public:
  explicit Steps(const Timeline& timeline)
      : timeline_(timeline),
        of_lane_(timeline.lanes.size()),
        before_(timeline.spans.size(), kNone),
        awaited_(timeline.spans.size()) {
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      auto& lane = of_lane_.at(timeline.spans[i].lane.index);
      if (!lane.empty() && end(lane.back()) <= begin(i)) before_[i] = lane.back();
      lane.push_back(i);
    }
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      for (const Wait& wait : timeline.spans[i].waits) add_awaited(i, wait);
    }
    set_order();
  }

  [[nodiscard]] std::size_t size() const { return timeline_.spans.size(); }
  [[nodiscard]] const Span& span(std::size_t i) const { return timeline_.spans[i]; }
  [[nodiscard]] std::int64_t begin(std::size_t i) const { return within(span(i).begin_ns); }
  [[nodiscard]] std::int64_t end(std::size_t i) const {
    return std::max(begin(i), within(span(i).end_ns));
  }
  [[nodiscard]] std::int64_t length(std::size_t i) const { return end(i) - begin(i); }

  [[nodiscard]] const std::vector<std::size_t>& of_lane(std::size_t lane) const {
    return of_lane_[lane];
  }
  /// The steps, each after what had to end before it.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }
  [[nodiscard]] const std::vector<std::size_t>& awaited(std::size_t i) const { return awaited_[i]; }

  /// Of what it waited for, what ended last.
  [[nodiscard]] std::size_t last_awaited(std::size_t i) const {
    std::size_t last = kNone;
    for (const std::size_t each : awaited_[i]) {
      if (last == kNone || end(each) > end(last)) last = each;
    }
    return last;
  }
  /// What released it: of all that had to end before it, what ended last.
  [[nodiscard]] std::size_t released_by(std::size_t i) const {
    const std::size_t last = last_awaited(i);
    if (last == kNone || before_[i] == kNone) return last == kNone ? before_[i] : last;
    return end(before_[i]) >= end(last) ? before_[i] : last;
  }

 private:
  [[nodiscard]] std::int64_t within(std::int64_t ns) const {
    return std::clamp<std::int64_t>(ns, 0, std::max<std::int64_t>(timeline_.total_ns, 0));
  }

  void add_awaited(std::size_t i, const Wait& wait) {
    if (wait.lane >= of_lane_.size() || wait.count == 0) return;
    const auto& lane = of_lane_[wait.lane];
    if (wait.count > lane.size() || end(lane[wait.count - 1]) > begin(i)) return;
    awaited_[i].push_back(lane[wait.count - 1]);
  }

  /// By time is not enough: steps without length may begin in the same moment. What waits for
  /// itself in a circle, which no run does, is cut loose.
  void set_order() {
    std::vector<std::size_t> missing(size(), 0);
    std::vector<std::vector<std::size_t>> then(size());
    for (std::size_t i = 0; i < size(); ++i) {
      for (const std::size_t each : awaited_[i]) then[each].push_back(i);
      if (before_[i] != kNone) then[before_[i]].push_back(i);
      missing[i] = awaited_[i].size() + (before_[i] == kNone ? 0 : 1);
      if (missing[i] == 0) order_.push_back(i);
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      for (const std::size_t next : then[order_[at]]) {
        if (--missing[next] == 0) order_.push_back(next);
      }
    }
    for (std::size_t i = 0; i < size(); ++i) {
      if (missing[i] == 0) continue;
      before_[i] = kNone;
      awaited_[i].clear();
      order_.push_back(i);
    }
  }

  const Timeline& timeline_;
  std::vector<std::vector<std::size_t>> of_lane_;
  std::vector<std::size_t> before_;
  std::vector<std::vector<std::size_t>> awaited_;
  std::vector<std::size_t> order_;
};

/// Hands out the time from 0 to the end of the run, each moment once: so parts add up by
/// themselves.
class Clock {
 public:
  /// The time from now to then, if then is later.
  [[nodiscard]] std::int64_t until(std::int64_t then) {
    const std::int64_t passed = std::max<std::int64_t>(then - now_, 0);
    now_ += passed;
    return passed;
  }

 private:
  std::int64_t now_ = 0;
};

/// "attn" of "attn.0" and "attn.0-1".
std::string op_of(const std::string& label) { return label.substr(0, label.rfind('.')); }

/// What one lane waited for, summed up by op.
class WaitedFor {
 public:
  void add(const Span& awaited, std::int64_t ns) {
    if (ns == 0) return;
    const auto [found, added] = at_.try_emplace({op_of(awaited.label), awaited.lane}, sums_.size());
    if (added) sums_.push_back({found->first.first, awaited.lane, awaited.cost, 0});
    sums_[found->second].ns += ns;
  }
  [[nodiscard]] std::vector<Explanation::Awaited> longest_first() {
    std::ranges::stable_sort(sums_, std::ranges::greater(), &Explanation::Awaited::ns);
    return std::move(sums_);
  }

 private:
  std::map<std::pair<std::string, LaneId>, std::size_t> at_;
  std::vector<Explanation::Awaited> sums_;  // in the order they were first waited for
};

/// A network step's thread sleeps while it is on the wire: nobody took anything from it.
std::int64_t taken_ns(const Span& span, std::int64_t ran) {
  if (span.cost == CostClass::kNetwork || span.cpu_ns == Span::kUnknown) return 0;
  return std::max<std::int64_t>(ran - span.cpu_ns, 0);
}

Explanation::Lane lane_of(const Timeline& timeline, const Steps& steps, std::size_t at,
                          std::int64_t last_end) {
  Explanation::Lane lane;
  lane.name = timeline.lanes[at];
  WaitedFor waited_for;
  Clock clock;
  for (const std::size_t i : steps.of_lane(at)) {
    if (const std::size_t last = steps.last_awaited(i); last != kNone) {
      const std::int64_t waited = clock.until(steps.end(last));
      lane.waited.of(steps.span(last).cost) += waited;
      waited_for.add(steps.span(last), waited);
    }
    lane.host_ns += clock.until(steps.begin(i));
    const std::int64_t ran = clock.until(steps.end(i));
    lane.busy.of(steps.span(i).cost) += ran;
    lane.taken_ns += taken_ns(steps.span(i), ran);
  }
  lane.tail_ns = clock.until(last_end);
  lane.host_ns += clock.until(timeline.total_ns);
  lane.waited_for = waited_for.longest_first();
  return lane;
}

/// How long at least one step of the lane stood behind another although its waits held. Of a step
/// that waits for nothing nobody knows since when it could have run.
std::int64_t queued_ns(const Steps& steps, std::size_t lane) {
  std::vector<std::pair<std::int64_t, std::int64_t>> queued;
  std::int64_t free = 0;  // when the lane is
  for (const std::size_t i : steps.of_lane(lane)) {
    const std::size_t last = steps.last_awaited(i);
    if (last != kNone && steps.end(last) < free) queued.emplace_back(steps.end(last), free);
    free = std::max(free, steps.end(i));
  }
  std::ranges::sort(queued);
  Clock clock;
  std::int64_t total = 0;
  for (const auto& [since, until] : queued) {
    (void)clock.until(since);
    total += clock.until(until);
  }
  return total;
}

Explanation::Path path_of(const Timeline& timeline, const Steps& steps) {
  std::vector<std::size_t> chain;
  for (const std::size_t i : steps.order()) {
    if (chain.empty() || steps.end(i) >= steps.end(chain[0])) chain = {i};
  }
  while (!chain.empty() && steps.released_by(chain.back()) != kNone) {
    chain.push_back(steps.released_by(chain.back()));
  }
  std::ranges::reverse(chain);

  Explanation::Path path;
  Clock clock;
  for (const std::size_t i : chain) {
    const Span& span = steps.span(i);
    path.steps.push_back({span.step, span.lane, span.label, span.cost, clock.until(steps.begin(i)),
                          clock.until(steps.end(i))});
    path.host_ns += path.steps.back().gap_ns;
    path.busy.of(span.cost) += path.steps.back().ns;
  }
  path.end_ns = clock.until(timeline.total_ns);
  path.host_ns += path.end_ns;
  return path;
}

std::int64_t longest_chain_ns(const Steps& steps) {
  std::vector<std::int64_t> done(steps.size(), 0);  // when, if there were lanes for all
  std::int64_t longest = 0;
  for (const std::size_t i : steps.order()) {
    for (const std::size_t each : steps.awaited(i)) done[i] = std::max(done[i], done[each]);
    done[i] += steps.length(i);
    longest = std::max(longest, done[i]);
  }
  return longest;
}

Explanation::Bound bound_of(const std::vector<Explanation::Lane>& lanes, const Steps& steps) {
  Explanation::Bound bound;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (bound.lane.valid() && lanes[i].busy.total_ns() <= bound.ns) continue;
    bound.ns = lanes[i].busy.total_ns();
    bound.lane = id_at<LaneId>(i);
  }
  if (const std::int64_t chain = longest_chain_ns(steps); chain > bound.ns) {
    bound.ns = chain;
    bound.by = Explanation::Bound::By::kWaits;
  }
  return bound;
}

void add_exposed(Explanation& explanation, const Steps& steps) {
  struct Change {
    std::int64_t when;
    int network;  // steps of that kind more or fewer
    int other;
  };
  std::vector<Change> changes;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const int network = steps.span(i).cost == CostClass::kNetwork ? 1 : 0;
    changes.push_back({steps.begin(i), network, 1 - network});
    changes.push_back({steps.end(i), -network, network - 1});
  }
  std::ranges::sort(changes, {}, &Change::when);
  Clock clock;
  int network = 0;
  int other = 0;
  for (const Change& change : changes) {
    const std::int64_t passed = clock.until(change.when);
    if (network > 0) explanation.network_ns += passed;
    if (network > 0 && other == 0) explanation.exposed_ns += passed;
    network += change.network;
    other += change.other;
  }
}

}  // namespace

std::int64_t& CostTimes::of(CostClass cost) {
  if (cost == CostClass::kNetwork) return network_ns;
  return cost == CostClass::kMemory ? memory_ns : compute_ns;
}

double Explanation::share() const {
  return total_ns == 0 ? 1 : static_cast<double>(bound.ns) / static_cast<double>(total_ns);
}

Explanation explain(const Timeline& timeline) {
  const Steps steps(timeline);
  Explanation explanation;
  explanation.total_ns = timeline.total_ns;
  explanation.steps = steps.size();
  std::int64_t last_end = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    last_end = std::max(last_end, steps.end(i));
    explanation.microbatches = std::max(explanation.microbatches, steps.span(i).microbatches.last);
  }
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    explanation.lanes.push_back(lane_of(timeline, steps, i, last_end));
    explanation.lanes.back().queued_ns = queued_ns(steps, i);
  }
  explanation.path = path_of(timeline, steps);
  explanation.bound = bound_of(explanation.lanes, steps);
  add_exposed(explanation, steps);
  return explanation;
}

}  // namespace dynaflow

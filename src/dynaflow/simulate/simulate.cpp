#include "dynaflow/simulate/simulate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "dynaflow/plan/issue_order.h"
#include "dynaflow/plan/verify.h"

namespace dynaflow {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Ends closer than this are one moment: rounding in fractions must not decide who was first.
constexpr double kSameMomentNs = 1e-3;
// Factors of several neighbours multiply; beyond this the clock would leave its range.
constexpr double kMostSlowdown = 1000;
constexpr std::int64_t kMostNs = 1'000'000'000'000;

std::int64_t op_ns(const Costs& costs, OpId op, std::int64_t rows) {
  return costs.ops[op.index].fixed_ns + costs.ops[op.index].row_ns * rows;
}

/// How long a step takes alone, and what it mainly uses: the class of its costliest op.
struct Work {
  std::int64_t ns = 0;
  CostClass cost = CostClass::kCompute;
};

Work work_of(const Graph& graph, const Plan& plan, const Step& step, const Placement& placement,
             const Costs& costs) {
  const std::int64_t rows = placement.rows(step.microbatches).count;
  Work work{costs.step_ns, CostClass::kCompute};
  std::int64_t costliest = -1;
  for (const OpId op : plan.ops(step)) {
    const std::int64_t ns = op_ns(costs, op, rows);
    work.ns += ns;
    if (ns > costliest) work.cost = graph.op(op).cost;
    costliest = std::max(costliest, ns);
  }
  return work;
}

struct Times {
  double begin = 0;
  double end = 0;
};

/// The plan's lanes on a virtual clock. Between two moments at which a step starts or ends, every
/// running step is stretched by a constant factor.
class VirtualRun {
 public:
  VirtualRun(const Graph& graph, const Plan& plan, const std::vector<Work>& work,
             const Costs& costs)
      : plan_(plan),
        work_(work),
        costs_(costs),
        order_(graph, plan),
        issued_(order_.groups(), 0),
        lanes_(plan.lane_steps.size()) {
    times_.resize(plan.steps.size());
  }

  std::vector<Times> run() {
    release();
    for (double next = next_moment(); next != kNever; next = next_moment()) {
      advance_to(next);
      release();
    }
    return std::move(times_);
  }

 private:
  enum class Head : std::uint8_t {
    kBlocked,   ///< its waits do not hold yet, it is not its turn, or the lane is done
    kReleased,  ///< it may start; the hand-off from the other lane is under way
    kRunning,
  };

  struct Lane {
    std::uint32_t completed = 0;
    Head head = Head::kBlocked;
    double arrived = 0;    ///< when the step at the head got there
    double starts = 0;     ///< when a released step starts
    double remaining = 0;  ///< of a running step, in ns of running alone
    double stretch = 1;    ///< of a running step: how many times longer it takes just now
  };

  [[nodiscard]] bool is_done(std::size_t lane) const {
    return lanes_[lane].completed == plan_.lane_steps[lane].size();
  }
  [[nodiscard]] StepId head(std::size_t lane) const {
    return plan_.lane_steps[lane][lanes_[lane].completed];
  }
  [[nodiscard]] const Work& work(std::size_t lane) const { return work_[head(lane).index]; }

  [[nodiscard]] bool waits_hold(const Step& step) const {
    const auto waits = plan_.waits(step);
    return std::all_of(waits.begin(), waits.end(),
                       [&](const Wait& wait) { return lanes_[wait.lane].completed >= wait.count; });
  }

  /// A transfer starts when those of its group that precede it have started.
  [[nodiscard]] bool is_its_turn(StepId step) const {
    return std::ranges::all_of(order_.of(step), [&](IssueOrder::Place place) {
      return issued_[place.group] == place.number;
    });
  }

  void release() {
    do release_heads();
    while (start_released() > 0);  // each may be what another one's turn comes after
    set_stretches();
  }

  /// A step that finds its waits fulfilled starts at once; one that had to wait for another lane
  /// starts a hand-off later.
  void release_heads() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      if (lane.head != Head::kBlocked || is_done(i)) continue;
      if (!waits_hold(plan_.steps[head(i).index]) || !is_its_turn(head(i))) continue;
      const double handoff = static_cast<double>(costs_.handoff_ns);
      lane.head = Head::kReleased;
      lane.starts = lane.arrived == now_ ? now_ : now_ + handoff;
    }
  }

  int start_released() {
    int started = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      if (lane.head != Head::kReleased || lane.starts > now_) continue;
      lane.head = Head::kRunning;
      lane.remaining = static_cast<double>(work(i).ns);
      times_[head(i).index].begin = now_;
      for (const IssueOrder::Place place : order_.of(head(i))) ++issued_[place.group];
      ++started;
    }
    return started;
  }

  void set_stretches() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].head == Head::kRunning) lanes_[i].stretch = stretch(i);
    }
  }

  [[nodiscard]] double stretch(std::size_t lane) const {
    const auto& beside = costs_.slowdown[static_cast<std::size_t>(work(lane).cost)];
    double product = 1;
    for (std::size_t other = 0; other < lanes_.size(); ++other) {
      if (other == lane || lanes_[other].head != Head::kRunning) continue;
      product *= beside[static_cast<std::size_t>(work(other).cost)];
    }
    return product;
  }

  /// When this lane's state changes next, if the others let it be.
  [[nodiscard]] double next_moment(const Lane& lane) const {
    if (lane.head == Head::kBlocked) return kNever;
    if (lane.head == Head::kReleased) return lane.starts;
    return now_ + lane.remaining * lane.stretch;
  }

  [[nodiscard]] double next_moment() const {
    double next = kNever;
    for (const Lane& lane : lanes_) next = std::min(next, next_moment(lane));
    return next;
  }

  void advance_to(double moment) {
    const double passed = moment - now_;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      if (lane.head != Head::kRunning) continue;
      if (next_moment(lane) <= moment + kSameMomentNs) {
        finish(i, moment);
      } else {
        lane.remaining -= passed / lane.stretch;
      }
    }
    now_ = moment;
  }

  void finish(std::size_t i, double moment) {
    times_[head(i).index].end = moment;
    ++lanes_[i].completed;
    lanes_[i].head = Head::kBlocked;
    lanes_[i].arrived = moment;
  }

  const Plan& plan_;
  const std::vector<Work>& work_;
  const Costs& costs_;
  IssueOrder order_;
  std::vector<std::uint32_t> issued_;  ///< per group, how many transfers have started
  double now_ = 0;
  std::vector<Lane> lanes_;
  std::vector<Times> times_;
};

Timeline make_timeline(const Graph& graph, const Plan& plan, const Placement& placement,
                       const Costs& costs) {
  std::vector<Work> work;
  work.reserve(plan.steps.size());
  for (const Step& step : plan.steps) {
    work.push_back(work_of(graph, plan, step, placement, costs));
  }
  const auto times = VirtualRun(graph, plan, work, costs).run();

  Timeline timeline;
  for (const LaneRequest& lane : plan.lanes) timeline.lanes.push_back(lane.name);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const auto waits = plan.waits(step);
    timeline.spans.push_back({id_at<StepId>(i),
                              step.lane,
                              label(graph, plan, step),
                              work[i].cost,
                              std::llround(times[i].begin),
                              std::llround(times[i].end),
                              step.microbatches,
                              {waits.begin(), waits.end()}});
    timeline.total_ns = std::max(timeline.total_ns, timeline.spans.back().end_ns);
  }
  std::sort(timeline.spans.begin(), timeline.spans.end(), [&](const auto& a, const auto& b) {
    return std::tuple(a.begin_ns, a.lane, plan.steps[a.step.index].position) <
           std::tuple(b.begin_ns, b.lane, plan.steps[b.step.index].position);
  });
  return timeline;
}

Diagnostic bad_costs(std::string message, std::string fix) {
  return {kBadCosts, std::move(message), "simulate", std::move(fix)};
}

/// What no clock could make sense of.
std::vector<Diagnostic> verify(const Costs& costs, const Graph& graph, std::int64_t rows) {
  std::vector<Diagnostic> findings;
  if (costs.ops.size() != graph.ops().size()) {
    findings.push_back(bad_costs("costs of " + std::to_string(costs.ops.size()) +
                                     " ops for a graph of " + std::to_string(graph.ops().size()),
                                 "give one cost per op, in the graph's order"));
  }
  const auto absurd = [&](std::int64_t ns) { return ns < 0 || ns > kMostNs; };
  const auto absurd_op = [&](const Costs::PerOp& op) {
    return absurd(op.fixed_ns) || op.row_ns < 0 ||
           op.row_ns > kMostNs / std::max<std::int64_t>(rows, 1);
  };
  if (absurd(costs.step_ns) || absurd(costs.handoff_ns) ||
      std::ranges::any_of(costs.ops, absurd_op)) {
    findings.push_back(bad_costs("a cost is negative, or over 1,000 s for this batch",
                                 "give times from zero up, in nanoseconds"));
  }
  for (const auto& row : costs.slowdown) {
    for (const double factor : row) {
      if (factor >= 1 / kMostSlowdown && factor <= kMostSlowdown) continue;
      findings.push_back(bad_costs("a slowdown is " + std::to_string(factor),
                                   "give factors from 0.001 to 1000; 1 means undisturbed"));
    }
  }
  return findings;
}

}  // namespace

Result<Simulation> simulate(const Graph& graph, const Plan& plan, const Buffers& buffers,
                            const Placement& placement, const Costs& costs) {
  if (auto well = all_well(verify(costs, graph, placement.row_starts.back())); !well)
    return Unexpected(well.error());
  if (auto well = all_well(verify_steps(graph, plan)); !well) return Unexpected(well.error());
  const auto hb = HappensBefore::of(plan, graph);
  if (!hb) return Unexpected(hb.error());
  return Simulation{make_timeline(graph, plan, placement, costs),
                    find_hazards(graph, plan, buffers, placement, *hb)};
}

}  // namespace dynaflow

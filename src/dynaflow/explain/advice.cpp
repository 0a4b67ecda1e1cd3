#include <algorithm>

#include "dynaflow/explain/explanation.h"
#include "dynaflow/timeline/duration.h"

namespace dynaflow {
namespace {

// Shares of the run, in percent, from which something is worth a sentence.
constexpr std::int64_t kExposedMatters = 5;
constexpr std::int64_t kHostMatters = 10;
constexpr std::int64_t kTakenMatters = 5;
constexpr std::int64_t kIdleMatters = 40;

bool matters(std::int64_t part, std::int64_t whole, std::int64_t from_percent) {
  return part > 0 && part * 100 >= whole * from_percent;
}

std::int64_t own_work_ns(const Explanation::Lane& lane) {
  return lane.busy.compute_ns + lane.busy.memory_ns;
}

/// The lane with work of its own that waited longest for the network; null if none did.
const Explanation::Lane* waits_for_network(const Explanation& explanation) {
  const Explanation::Lane* longest = nullptr;
  for (const Explanation::Lane& lane : explanation.lanes) {
    if (own_work_ns(lane) == 0 || lane.waited.network_ns == 0) continue;
    if (longest == nullptr || lane.waited.network_ns > longest->waited.network_ns) longest = &lane;
  }
  return longest;
}

/// A lane whose network steps stand between other steps; null if there is none.
const Explanation::Lane* mixed(const Explanation& explanation) {
  const auto found = std::ranges::find_if(explanation.lanes, [&](const Explanation::Lane& lane) {
    return own_work_ns(lane) > 0 &&
           matters(lane.busy.network_ns, explanation.total_ns, kExposedMatters);
  });
  return found == explanation.lanes.end() ? nullptr : &*found;
}

std::string exposed(const Explanation& explanation) {
  const bool split = explanation.microbatches > 1;
  if (const Explanation::Lane* lane = mixed(explanation)) {
    return duration(explanation.exposed_ns) + " of network time is exposed: " + lane->name +
           " runs it between other steps. A lane of its own" +
           (split ? " could hide it." : " and two micro-batches could hide it.");
  }
  const std::string way_out =
      split ? "More or other micro-batches could hide it."
            : "One micro-batch has nothing to run meanwhile: split the batch.";
  const Explanation::Lane* lane = waits_for_network(explanation);
  if (lane == nullptr) {
    return duration(explanation.exposed_ns) + " of network time is exposed. " + way_out;
  }
  const auto longest =
      std::ranges::find(lane->waited_for, CostClass::kNetwork, &Explanation::Awaited::cost);
  return lane->name + " waited " + duration(lane->waited.network_ns) +
         " for the network, longest for " + longest->op + ": exposed. " + way_out;
}

std::string hidden(const Explanation& explanation) {
  const std::int64_t beside = explanation.network_ns - explanation.exposed_ns;
  std::string text =
      percent(beside, explanation.network_ns) + " of the network time is hidden behind other steps";
  for (const Explanation::Lane& lane : explanation.lanes) {
    if (lane.busy.network_ns == 0 || own_work_ns(lane) > 0) continue;
    if (!matters(lane.waited.compute_ns, explanation.total_ns, 1)) continue;
    text += "; " + lane.name + " waits for compute " +
            percent(lane.waited.compute_ns, explanation.total_ns) + " of the time";
  }
  return text + ".";
}

std::string host(const Explanation& explanation) {
  const auto steps = static_cast<std::int64_t>(explanation.path.steps.size());
  return "Between steps the critical path loses " +
         percent(explanation.path.host_ns, explanation.total_ns) + " to the host, " +
         duration(explanation.path.host_ns / std::max<std::int64_t>(steps, 1)) +
         " per step: fewer or longer steps would lose less.";
}

std::string taken(const Explanation& explanation, const Explanation::Lane& lane) {
  std::string text = "For " + duration(lane.taken_ns) + " in steps of " + lane.name +
                     " other threads had the core";
  return text + (explanation.network_ns > 0 ? ": the network's, or other processes'." : ".");
}

std::string gain(const Explanation& explanation) {
  const std::int64_t most = explanation.total_ns - explanation.bound.ns;
  if (most == 0) return "On these lanes these steps cannot take less time.";
  const std::int64_t rounded_up = (most * 100 + explanation.total_ns - 1) / explanation.total_ns;
  return "Another order of these steps on these lanes could save " + duration(most) + " (" +
         std::to_string(rounded_up) + " %) at most.";
}

/// Where one lane bounds the run and another one that computes too is idle; empty elsewhere.
std::string balance(const Explanation& explanation) {
  if (explanation.bound.by != Explanation::Bound::By::kLane) return {};
  const Explanation::Lane& busiest = explanation.lanes[explanation.bound.lane.index];
  if (own_work_ns(busiest) == 0) return {};
  for (const Explanation::Lane& lane : explanation.lanes) {
    const std::int64_t idle = explanation.total_ns - lane.busy.total_ns();
    if (&lane == &busiest || own_work_ns(lane) == 0) continue;
    if (!matters(idle, explanation.total_ns, kIdleMatters)) continue;
    return busiest.name + " is busy " + percent(busiest.busy.total_ns(), explanation.total_ns) +
           " of the time, " + lane.name + " " +
           percent(lane.busy.total_ns(), explanation.total_ns) + ": steps that moved to " +
           lane.name + " would lower the bound.";
  }
  return {};
}

}  // namespace

std::vector<std::string> advice(const Explanation& explanation) {
  if (explanation.steps == 0 || explanation.total_ns == 0) return {};
  std::vector<std::string> sentences;
  if (matters(explanation.exposed_ns, explanation.total_ns, kExposedMatters)) {
    sentences.push_back(exposed(explanation));
  } else if (explanation.network_ns > 0) {
    sentences.push_back(hidden(explanation));
  }
  if (matters(explanation.path.host_ns, explanation.total_ns, kHostMatters)) {
    sentences.push_back(host(explanation));
  }
  for (const Explanation::Lane& lane : explanation.lanes) {
    if (matters(lane.taken_ns, explanation.total_ns, kTakenMatters)) {
      sentences.push_back(taken(explanation, lane));
    }
  }
  if (std::string sentence = balance(explanation); !sentence.empty()) {
    sentences.push_back(std::move(sentence));
  }
  sentences.push_back(gain(explanation));
  return sentences;
}

}  // namespace dynaflow

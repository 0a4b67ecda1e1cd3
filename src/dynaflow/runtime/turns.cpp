#include "dynaflow/runtime/turns.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace dynaflow {
namespace {

constexpr auto kNoTurn = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Turns::Turns(const Graph& graph, const Plan& plan)
    : order_(graph, plan), of_step_(plan.steps.size(), kNoTurn), issued_(order_.groups(), 0) {
  if (order_.groups() == 0) return;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto step = id_at<StepId>(i);
    if (order_.of(step).empty()) continue;
    of_step_[i] = static_cast<std::uint32_t>(turns_.size());
    turns_.emplace_back(*this, step);
  }
}

Turn* Turns::of(StepId step) {
  const std::uint32_t at = of_step_[step.index];
  return at == kNoTurn ? nullptr : &turns_[at];
}

void Turns::reset() {
  if (turns_.empty()) return;
  const std::scoped_lock lock(mutex_);
  std::ranges::fill(issued_, 0);
  aborted_ = false;
}

void Turns::abort() {
  const std::scoped_lock lock(mutex_);
  aborted_ = true;
  passed_.notify_all();
}

void Turns::take(StepId step) {
  const auto came = [&](IssueOrder::Place place) { return issued_[place.group] >= place.number; };
  std::unique_lock lock(mutex_);
  passed_.wait(lock, [&] { return aborted_ || std::ranges::all_of(order_.of(step), came); });
  if (aborted_) throw std::runtime_error("the run ended before its turn came");
}

void Turns::pass(StepId step) {
  const std::scoped_lock lock(mutex_);
  for (const IssueOrder::Place place : order_.of(step)) {
    issued_[place.group] = std::max(issued_[place.group], place.number + 1);
  }
  passed_.notify_all();
}

void Turns::OfStep::take() { turns_->take(step_); }

void Turns::OfStep::pass() { turns_->pass(step_); }

}  // namespace dynaflow

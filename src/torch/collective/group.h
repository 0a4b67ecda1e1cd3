#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynaflow/base/rule.h"

/// Collectives as steps on lanes: issued on the process group itself, each with its own Work.
namespace dynaflow::collective {

/// A process group as one process sees it. A transfer that failed leaves the ranks at different
/// places, so the group is then broken for good: whatever needs it fails at once, until there is a
/// new group of that name.
class Group {
 public:
  /// Throws a Failure where torch.distributed has no such group (R10), or it is broken (R11, or
  /// what `broken` says).
  [[nodiscard]] static Group named(const std::string& name, const Rule& broken = kGroupBroken);
  /// The same, or none.
  [[nodiscard]] static std::optional<Group> find(const std::string& name);

  [[nodiscard]] c10d::ProcessGroup* operator->() const { return group_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::chrono::milliseconds timeout() const;
  /// Without other ranks there is nobody to agree with, and a sum is what there is.
  [[nodiscard]] bool is_alone() const { return group_->getSize() == 1; }
  /// "rank 1 of 2 in group tp".
  [[nodiscard]] std::string here() const;

  /// Waits without holding a core. Throws R10, and breaks the group, where the transfer failed.
  void finish(c10d::Work& work) const;

  /// What another rank said.
  struct Word {
    int rank = 0;
    std::string text;
  };
  /// Tells all ranks something short, and hears what each of the others says at the same place of
  /// its program. Through the group's store, never by a collective. Throws R10, and breaks the
  /// group, where one is silent for the group's time-out.
  [[nodiscard]] std::vector<Word> exchange(const std::string& text) const;
  /// Swaps something long with one rank that does the same, right after an exchange; empty where
  /// it does not answer.
  [[nodiscard]] std::string ask(int rank, const std::string& text) const;

  /// Nobody may use it any more, for this reason.
  void mark_broken(const std::string& reason) const;

 private:
  struct State;

  Group(std::string name, c10::intrusive_ptr<c10d::ProcessGroup> group,
        std::shared_ptr<State> state)
      : name_(std::move(name)), group_(std::move(group)), state_(std::move(state)) {}
  [[nodiscard]] static Group resolve(const std::string& name);
  [[nodiscard]] static std::shared_ptr<State> state_of(
      const c10::intrusive_ptr<c10d::ProcessGroup>& group);

  std::string name_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::shared_ptr<State> state_;
};

}  // namespace dynaflow::collective

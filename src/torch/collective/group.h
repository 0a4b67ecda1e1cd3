#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <string>

/// Collectives as steps on lanes: issued on the process group itself, each with its own Work.
namespace dynaflow::collective {

/// A process group as one process sees it. Collectives that failed leave the ranks at different
/// places, so the group is then broken for good: whatever needs it fails at once, until there is a
/// new group of that name.
class Group {
 public:
  /// Throws std::runtime_error where torch.distributed has no such group, or it is broken.
  [[nodiscard]] static Group named(const std::string& name);

  [[nodiscard]] c10d::ProcessGroup& operator*() const { return *group_; }
  [[nodiscard]] c10d::ProcessGroup* operator->() const { return group_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// "rank 1 of 2 in group tp".
  [[nodiscard]] std::string here() const;

  /// Waits without holding a core. Throws, and breaks the group, where the transfer failed.
  void finish(c10d::Work& work) const;
  /// Nobody may use it any more, for this reason.
  void mark_broken(const std::string& reason) const;

 private:
  Group(std::string name, c10::intrusive_ptr<c10d::ProcessGroup> group)
      : name_(std::move(name)), group_(std::move(group)) {}

  std::string name_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

}  // namespace dynaflow::collective

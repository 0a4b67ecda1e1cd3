#include "torch/collective/group.h"

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include <map>
#include <mutex>
#include <stdexcept>

namespace dynaflow::collective {
namespace {

/// Which groups are broken, and why. Held weakly: a new group may get an old one's address.
class Broken {
 public:
  void add(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const std::string& reason) {
    const std::scoped_lock lock(mutex_);
    groups_.try_emplace(group.get(), Entry{c10::weak_intrusive_ptr(group), reason});
  }

  /// Empty: it is not broken.
  std::string reason(const c10d::ProcessGroup* group) {
    const std::scoped_lock lock(mutex_);
    const auto at = groups_.find(group);
    if (at == groups_.end()) return {};
    if (!at->second.group.expired()) return at->second.reason;
    groups_.erase(at);
    return {};
  }

 private:
  struct Entry {
    c10::weak_intrusive_ptr<c10d::ProcessGroup> group;
    std::string reason;
  };
  std::mutex mutex_;
  std::map<const c10d::ProcessGroup*, Entry> groups_;
};

Broken& broken() {
  static auto* const kBroken = new Broken;  // lanes may outlive static destruction
  return *kBroken;
}

/// The first line of what a backend says; the rest is its stack.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Group Group::named(const std::string& name) {
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  try {
    group = c10d::resolve_process_group(name);
  } catch (const std::exception&) {
    throw std::runtime_error("there is no process group " + name +
                             ": call torch.distributed.init_process_group first");
  }
  if (const std::string reason = broken().reason(group.get()); !reason.empty()) {
    throw std::runtime_error("process group " + name + " is broken: " + reason +
                             "; destroy it and make a new one");
  }
  return {name, std::move(group)};
}

std::string Group::here() const {
  return "rank " + std::to_string(group_->getRank()) + " of " + std::to_string(group_->getSize()) +
         " in group " + name_;
}

void Group::finish(c10d::Work& work) const {
  try {
    work.wait();
  } catch (const std::exception& failure) {
    const std::string reason = here() + ": " + first_line(failure.what());
    mark_broken(reason);
    throw std::runtime_error(reason);
  }
}

void Group::mark_broken(const std::string& reason) const { broken().add(group_, reason); }

}  // namespace dynaflow::collective

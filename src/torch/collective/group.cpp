#include "torch/collective/group.h"

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include <map>
#include <mutex>

#include "dynaflow/base/error.h"

namespace dynaflow::collective {
namespace {

constexpr const char* kNewGroup =
    "end the ranks that are left, or destroy the group and make a new one";

/// The first line of what a backend says; the rest is its stack.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string seconds(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100) +
         " s";
}

std::string key(std::uint64_t exchange, int rank, const char* what) {
  return "dynaflow/" + std::to_string(exchange) + "/" + std::to_string(rank) + what;
}

}  // namespace

/// What this process knows of a group beyond torch.
struct Group::State {
  c10::weak_intrusive_ptr<c10d::ProcessGroup> group;  ///< a new one may get an old one's address
  std::mutex mutex;                                   ///< guards what follows
  std::string broken_because;
  c10::intrusive_ptr<c10d::Store> store;  ///< a connection of our own
  std::uint64_t exchanges = 0;
};

std::shared_ptr<Group::State> Group::state_of(const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
  static std::mutex mutex;
  static auto* const kStates =  // lanes may outlive static destruction
      new std::map<const c10d::ProcessGroup*, std::shared_ptr<State>>;
  const std::scoped_lock lock(mutex);
  std::shared_ptr<State>& state = (*kStates)[group.get()];
  if (state == nullptr || state->group.expired()) {
    state = std::make_shared<State>(c10::weak_intrusive_ptr(group));
  }
  return state;
}

Group Group::resolve(const std::string& name) {
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  try {
    group = c10d::resolve_process_group(name);
  } catch (const std::exception&) {
    throw Failure(kTransferFailed, "there is no process group " + name,
                  "call torch.distributed.init_process_group, or compile again for the new group");
  }
  auto state = state_of(group);
  return {name, std::move(group), std::move(state)};
}

Group Group::named(const std::string& name, const Rule& broken) {
  Group group = resolve(name);
  const std::scoped_lock lock(group.state_->mutex);
  if (group.state_->broken_because.empty()) return group;
  throw Failure(broken,
                "process group " + name + " is broken since " + group.state_->broken_because,
                kNewGroup);
}

std::optional<Group> Group::find(const std::string& name) {
  try {
    return resolve(name);
  } catch (const Failure&) {
    return std::nullopt;
  }
}

std::chrono::milliseconds Group::timeout() const {
  return group_->getBackend(c10::DeviceType::CPU)->getBackendOptions()->timeout;
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
    throw Failure(kTransferFailed, reason, kNewGroup);
  }
}

std::vector<Group::Word> Group::exchange(const std::string& text) const {
  const std::scoped_lock lock(state_->mutex);
  const int self = group_->getRank();
  int other = -1;
  try {
    if (state_->store == nullptr) {
      state_->store = group_->getStore()->clone();
      state_->store->setTimeout(timeout());
    }
    c10d::Store& store = *state_->store;
    const std::uint64_t now = state_->exchanges++;
    store.set(key(now, self, ""), text);
    std::vector<Word> words;
    for (int rank = 0; rank < group_->getSize(); ++rank) {
      if (rank != self) words.push_back({rank, store.get_to_str(key(now, other = rank, ""))});
    }
    // Whoever is here has read what was said before.
    if (now > 0) store.deleteKey(key(now - 1, self, ""));
    return words;
  } catch (const std::exception& failure) {
    const std::string reason =
        here() + (other < 0 ? ": " + first_line(failure.what())
                            : " waited " + seconds(timeout()) + " at most for rank " +
                                  std::to_string(other) +
                                  " to begin the same run: " + first_line(failure.what()));
    state_->broken_because = reason;
    throw Failure(kTransferFailed, reason, kNewGroup);
  }
}

std::string Group::ask(int rank, const std::string& text) const {
  const std::scoped_lock lock(state_->mutex);
  const std::uint64_t now = state_->exchanges - 1;
  try {
    state_->store->set(key(now, group_->getRank(), "/text"), text);
    return state_->store->get_to_str(key(now, rank, "/text"));
  } catch (const std::exception&) {
    return {};
  }
}

void Group::mark_broken(const std::string& reason) const {
  const std::scoped_lock lock(state_->mutex);
  if (state_->broken_because.empty()) state_->broken_because = reason;
}

}  // namespace dynaflow::collective

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "dynaflow/base/lru_cache.h"
#include "dynaflow/runtime/program.h"
#include "torch/collective/group.h"

namespace dynaflow::collective {

/// What one Program's ranks must have in common, per process group.
struct AgreementText {
  std::string text;
  std::string digest;
};
using AgreementTexts = std::map<std::string, AgreementText>;

/// One run's word to the other ranks: given, and theirs heard, before the run's first transfer in
/// each group, while it is that transfer's turn.
class RunAgreement {
 public:
  /// `texts` must outlive it.
  explicit RunAgreement(const AgreementTexts& texts) : texts_(&texts) {}

  /// Compares with all ranks of the group, once per run. Throws a Failure: R9 where they differ,
  /// R10 where one does not answer.
  void confirm(const Group& group);
  /// A run that failed between transfers leaves the others in the middle.
  void mark_broken(const std::string& reason) const;

 private:
  const AgreementTexts* texts_;
  std::mutex mutex_;
  std::set<std::string> confirmed_;
};

/// The agreements of one graph's Programs, made when a Program is new.
class Agreements {
 public:
  explicit Agreements(const Graph& graph);

  /// Whether other ranks take part at all.
  [[nodiscard]] bool are_needed() const { return !groups_.empty(); }
  /// R11 where a group is broken, R10 where there is none.
  [[nodiscard]] Result<void> check_groups() const;
  /// The longest time-out of the groups: no step stalls before it.
  [[nodiscard]] std::chrono::milliseconds timeout() const;
  [[nodiscard]] std::shared_ptr<const AgreementTexts> of(
      const std::shared_ptr<const Program>& program, const Split& split,
      std::span<const std::int64_t> symbols);

 private:
  const Graph* graph_;
  std::set<std::string> groups_;
  std::mutex mutex_;
  LruCache<std::shared_ptr<const Program>, std::shared_ptr<const AgreementTexts>> known_{32};
};

}  // namespace dynaflow::collective

#include "torch/collective/agreement.h"

#include "dynaflow/plan/agreement.h"

namespace dynaflow::collective {
namespace {

constexpr const char* kSame =
    "give every rank the same batch size, strategy, annotations and version of the model";

Unexpected refuse(const Failure& failure) {
  return Unexpected(Error(Diagnostic{failure.rule(), failure.what(), "Model::run", failure.fix()}));
}

}  // namespace

void RunAgreement::confirm(const Group& group) {
  {
    const std::scoped_lock lock(mutex_);
    if (!confirmed_.insert(group.name()).second) return;
  }
  const AgreementText& mine = texts_->at(group.name());
  for (const Group::Word& other : group.exchange(mine.digest)) {
    if (other.text == mine.digest) continue;
    const std::string theirs = group.ask(other.rank, mine.text);
    throw Failure(kRanksDisagree,
                  group.here() + " and rank " + std::to_string(other.rank) +
                      " are about to run different plans: " + first_difference(mine.text, theirs),
                  kSame);
  }
}

void RunAgreement::mark_broken(const std::string& reason) const {
  for (const std::string& name : confirmed_) {
    if (const auto group = Group::find(name)) group->mark_broken(reason);
  }
}

Agreements::Agreements(const Graph& graph) : graph_(&graph) {
  for (const Op& op : graph.ops()) {
    if (!op.group.empty()) groups_.insert(op.group);
  }
}

Result<void> Agreements::check_groups() const {
  try {
    for (const std::string& group : groups_) static_cast<void>(Group::named(group));
  } catch (const Failure& failure) {
    return refuse(failure);
  }
  return {};
}

std::chrono::milliseconds Agreements::timeout() const {
  std::chrono::milliseconds longest{0};
  for (const std::string& name : groups_) {
    if (const auto group = Group::find(name)) longest = std::max(longest, group->timeout());
  }
  return longest;
}

std::shared_ptr<const AgreementTexts> Agreements::of(const std::shared_ptr<const Program>& program,
                                                     const Split& split,
                                                     std::span<const std::int64_t> symbols) {
  const std::scoped_lock lock(mutex_);
  if (const auto* known = known_.find(program)) return *known;
  auto texts = std::make_shared<AgreementTexts>();
  for (const std::string& group : groups_) {
    std::string text = agreement_text(*graph_, program->plan(), split, symbols, group);
    std::string digest = digest_of(text);
    texts->emplace(group, AgreementText{std::move(text), std::move(digest)});
  }
  return known_.put(program, std::move(texts));
}

}  // namespace dynaflow::collective

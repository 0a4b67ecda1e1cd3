#pragma once

#include <span>
#include <string>

#include "dynaflow/plan/plan.h"

namespace dynaflow {

/// What the ranks of a process group must have in common to run this plan together, one line per
/// step: its lane, its label, and how much it transfers where it is a collective of the group.
/// Sizes of compute may differ between ranks, those of transfers only where ops have the tag
/// "uneven", as all_to_all has: each rank may give and get another amount.
[[nodiscard]] std::string agreement_text(const Graph& graph, const Plan& plan, const Split& split,
                                         std::span<const std::int64_t> symbols,
                                         const std::string& group);

/// Equal texts have equal digests, on every machine.
[[nodiscard]] std::string digest_of(const std::string& text);

/// "line 3: network attn.0 here, network mlp.0 there"; empty for equal texts.
[[nodiscard]] std::string first_difference(const std::string& here, const std::string& there);

}  // namespace dynaflow

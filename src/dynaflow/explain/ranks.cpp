#include "dynaflow/explain/ranks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

#include "dynaflow/timeline/duration.h"

namespace dynaflow {
namespace {

using Rank = RanksExplanation::Rank;
using Span = Timeline::Span;
using Transfer = RanksExplanation::Transfer;

/// One transfer on each rank.
using Seen = std::vector<const Span*>;

constexpr int kWorthSaying = 10;  // % of the time in transfers

std::map<std::string_view, const Span*> transfers_of(const Timeline& timeline) {
  std::map<std::string_view, const Span*> found;
  for (const Span& span : timeline.spans) {
    if (span.cost == CostClass::kNetwork) found.emplace(span.label, &span);
  }
  return found;
}

std::vector<Seen> common_transfers(std::span<const NamedTimeline> runs) {
  std::vector<Seen> common;
  if (runs.empty()) return common;
  std::vector<std::map<std::string_view, const Span*>> of_rank;
  for (const NamedTimeline& run : runs) of_rank.push_back(transfers_of(run.timeline));
  for (const Span& span : runs.front().timeline.spans) {
    Seen seen;
    for (const auto& transfers : of_rank) {
      const auto found = transfers.find(span.label);
      if (found != transfers.end()) seen.push_back(found->second);
    }
    if (seen.size() == runs.size()) common.push_back(std::move(seen));
  }
  return common;
}

/// How far the clock of `rank` is ahead of the first rank's.
std::int64_t find_ahead(const std::vector<Seen>& transfers, std::size_t rank) {
  std::vector<std::int64_t> ends;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const Seen& seen : transfers) {
    const Span& first = *seen.front();
    const Span& other = *seen[rank];
    ends.push_back(other.end_ns - first.end_ns);
    least = std::max(least, other.begin_ns - first.end_ns);
    most = std::min(most, other.end_ns - first.begin_ns);
  }
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::ranges::nth_element(ends, middle);
  return std::min(std::max(*middle, least), most);
}

/// Adds one transfer to its ranks.
Transfer add_transfer(const Seen& seen, std::vector<Rank>& ranks) {
  std::vector<std::int64_t> came;
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (std::size_t r = 0; r < seen.size(); ++r) {
    came.push_back(seen[r]->begin_ns - ranks[r].ahead_ns);
    end = std::max(end, seen[r]->end_ns - ranks[r].ahead_ns);
  }
  const auto at = std::ranges::max_element(came);
  const std::int64_t last = *at;
  const auto who = static_cast<std::size_t>(at - came.begin());
  for (std::size_t r = 0; r < seen.size(); ++r) {
    const std::int64_t taken = seen[r]->end_ns - seen[r]->begin_ns;
    ranks[r].network_ns += taken;
    ranks[r].awaited_ns += std::min(last - came[r], taken);
  }
  const std::int64_t first = *std::ranges::min_element(came);
  came.erase(came.begin() + static_cast<std::ptrdiff_t>(who));
  if (!came.empty()) ranks[who].late_ns += last - *std::ranges::max_element(came);
  ++ranks[who].last;
  return {seen.front()->label, who, last - first, end - last};
}

std::string late_sentence(const RanksExplanation& explanation) {
  const Rank& late = *std::ranges::max_element(explanation.ranks, {}, &Rank::late_ns);
  return late.name + " came last to " + std::to_string(late.last) + " of " +
         count_of(explanation.transfers.size(), "transfer") + ", and the others waited " +
         duration(late.late_ns) +
         " for it alone: even out what ranks compute, or give them more micro-batches to compute "
         "meanwhile.";
}

}  // namespace

Result<RanksExplanation> explain_ranks(std::span<const NamedTimeline> runs) {
  const std::vector<Seen> transfers = common_transfers(runs);
  if (transfers.empty()) {
    return Unexpected(
        Error(Diagnostic{kBadTimeline, "no transfer is in all of these timelines", "explain_ranks",
                         "give the timelines of one run, one for each rank"}));
  }
  RanksExplanation explanation;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    explanation.ranks.push_back({.name = runs[r].name, .ahead_ns = find_ahead(transfers, r)});
  }
  for (const Seen& seen : transfers) {
    explanation.transfers.push_back(add_transfer(seen, explanation.ranks));
  }
  return explanation;
}

std::string to_string(const RanksExplanation& explanation) {
  std::vector<std::array<std::string, 4>> rows{{"rank", "transfers", "of that awaited", "late"}};
  std::int64_t network = 0;
  std::int64_t awaited = 0;
  for (const Rank& rank : explanation.ranks) {
    network += rank.network_ns;
    awaited += rank.awaited_ns;
    rows.push_back(
        {rank.name, duration(rank.network_ns),
         duration(rank.awaited_ns) + " (" + percent(rank.awaited_ns, rank.network_ns) + ")",
         duration(rank.late_ns)});
  }
  std::array<std::size_t, 4> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = "ranks  " + count_of(explanation.ranks.size(), "rank") + ", " +
                     count_of(explanation.transfers.size(), "transfer") + "\n";
  for (const auto& row : rows) {
    text += "  " + padded(row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += "   " + right_aligned(row[i], widths[i]);
    text += '\n';
  }
  const Transfer& longest =
      *std::ranges::max_element(explanation.transfers, {}, &Transfer::awaited_ns);
  text += "\n  " + longest.label + " was awaited longest: " + duration(longest.awaited_ns) +
          " until " + explanation.ranks[longest.last].name + " came, then " +
          duration(longest.wire_ns) + " on the wire.\n";
  if (awaited * 100 >= network * kWorthSaying) text += "  " + late_sentence(explanation) + "\n";
  return text;
}

}  // namespace dynaflow

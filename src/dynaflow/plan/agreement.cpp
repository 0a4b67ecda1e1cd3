#include "dynaflow/plan/agreement.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace dynaflow {
namespace {

std::int64_t rows_of(const Split& split, MicrobatchRange range) {
  std::int64_t rows = 0;
  for (const Microbatch mb : range) rows += split.sizes[mb.index];
  return rows;
}

/// "4096 f32", for each of the step's values that move.
std::string sizes(const Graph& graph, const Plan& plan, const Step& step, std::int64_t rows,
                  std::span<const std::int64_t> symbols) {
  const auto ops = plan.ops(step);
  const bool even =
      std::ranges::none_of(ops, [&](OpId op) { return graph.op(op).has_tag("uneven"); });
  std::string text;
  for (const Operand& operand : plan.operands(step)) {
    const Value& value = graph.value(operand.value);
    const bool known = even && graph.storage(value.storage).memory != Memory::kUnplaced;
    const std::int64_t each = value.type.has_rows() ? rows : 1;
    text += ' ' + (known ? std::to_string(value.type.elements.evaluate(symbols) * each) : "some") +
            ' ' + to_string(value.type.dtype);
  }
  return text;
}

std::string line_at(std::istringstream& text, const char* past_the_end) {
  std::string line;
  return std::getline(text, line) ? line : past_the_end;
}

}  // namespace

std::string agreement_text(const Graph& graph, const Plan& plan, const Split& split,
                           std::span<const std::int64_t> symbols, const std::string& group) {
  std::string text = "strategy " + plan.strategy + ", " + std::to_string(plan.microbatches()) +
                     " microbatches, group " + group + '\n';
  for (const Step& step : plan.steps) {
    text += plan.lanes[step.lane.index].name + ' ' + label(graph, plan, step);
    const auto ops = plan.ops(step);
    if (std::ranges::any_of(ops, [&](OpId op) { return graph.op(op).group == group; })) {
      text += sizes(graph, plan, step, rows_of(split, step.microbatches), symbols);
    }
    text += '\n';
  }
  return text;
}

std::string digest_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(hash));
  return hex.data();
}

std::string first_difference(const std::string& here, const std::string& there) {
  if (here == there) return {};
  std::istringstream ours(here);
  std::istringstream theirs(there);
  std::size_t number = 0;
  std::string a;
  std::string b;
  do {
    ++number;
    a = line_at(ours, "nothing");
    b = line_at(theirs, "nothing");
  } while (a == b && (ours || theirs));
  std::ostringstream text;
  text << "line " << number << " of the plan: \"" << a << "\" here, \"" << b << "\" there";
  return text.str();
}

}  // namespace dynaflow

#include "import/rows/table.h"

#include <algorithm>
#include <map>

#include "import/rows/table_rows.h"

namespace dynaflow::rows {

using capture::TensorId;

namespace {

const Entry kDeclared{.op = "", .family = declared};

const std::map<std::string_view, const Entry*>& entries() {
  static const auto kAll = [] {
    std::map<std::string_view, const Entry*> found;
    for (const std::span<const Entry> rows : {pointwise_rows(), other_rows()}) {
      for (const Entry& entry : rows) found.emplace(entry.op, &entry);
    }
    return found;
  }();
  return kAll;
}

const Entry* entry_of(std::string_view name) {
  const auto at = entries().find(name);
  return at == entries().end() ? nullptr : at->second;
}

}  // namespace

const Entry* Table::find(const capture::Call& call) const {
  if (const Entry* entry = entry_of(call.name())) return entry;
  if (const Entry* entry = entry_of(call.op)) return entry;
  const bool row_wise =
      std::ranges::find(declarations_.row_wise, call.op) != declarations_.row_wise.end();
  if (row_wise) return &kDeclared;
  if (!call.op.ends_with('_')) return nullptr;
  const std::string functional = call.op.substr(0, call.op.size() - 1);
  const std::string overload = call.overload.empty() ? "" : "." + call.overload;
  if (const Entry* entry = entry_of(functional + overload)) return entry;
  return entry_of(functional);
}

Outcome by_contents(const Site& site) {
  return merged(site, "what it gives depends on the contents of all rows");
}

Outcome declared(const Site& site) {
  Outcome outcome = together(site);
  if (outcome.runs != CallRows::Runs::kRowWise) return outcome;
  for (const State& state : outcome.outputs) {
    if (state.carry.outer != Extent(1)) return merged(site, "the batch is in it more than once");
  }
  for (const TensorId output : site.call().outputs) {
    if (output.valid() && !site.has_batch(output)) {
      return merged(site, "it was declared row-wise, but a result has no rows");
    }
  }
  return outcome;
}

}  // namespace dynaflow::rows

#include <string>

#include "import/rows/rows.h"

namespace dynaflow::rows {
namespace {

std::string text_of(const Carry& carry, const std::vector<std::string>& symbols) {
  std::string text = to_string(carry.kind);
  if (carry.kind != Carry::Kind::kSplit) return text;
  text += ' ' + std::to_string(carry.dim);
  if (carry.outer != Extent(1)) text += " in " + dynaflow::to_string(carry.outer, symbols);
  return text;
}

}  // namespace

std::string to_string(Carry::Kind kind) {
  switch (kind) {
    case Carry::Kind::kWhole:
      return "whole";
    case Carry::Kind::kSplit:
      return "split";
    case Carry::Kind::kLocal:
      return "local";
    case Carry::Kind::kPartial:
      return "partial";
    case Carry::Kind::kCoupled:
      return "coupled";
  }
  return "";
}

std::string to_string(CallRows::Runs runs) {
  switch (runs) {
    case CallRows::Runs::kRowWise:
      return "row-wise";
    case CallRows::Runs::kOnce:
      return "once";
    case CallRows::Runs::kMerged:
      return "merged";
    case CallRows::Runs::kDrawn:
      return "drawn";
    case CallRows::Runs::kUnknown:
      return "unknown";
  }
  return "";
}

std::string to_string(const Carry& carry) { return text_of(carry, {}); }

std::string to_string(const Rows& rows) {
  const std::vector<std::string> symbols = rows.capture.symbol_names();
  std::string text =
      "rows " + rows.capture.name + "  " + std::to_string(rows.capture.calls.size()) + " calls\n";
  for (std::size_t i = 0; i < rows.capture.calls.size(); ++i) {
    const capture::Call& call = rows.capture.calls[i];
    const CallRows& how = rows.calls[i];
    text += "  " + capture::to_string(rows.capture, call) + "  " + to_string(how.runs);
    for (const capture::TensorId output : call.outputs) {
      if (output.valid()) text += ", " + text_of(rows.tensors[output.index], symbols);
    }
    if (how.group != CallRows::kNoGroup) text += "  group " + std::to_string(how.group);
    if (!how.reason.empty()) text += "  (" + how.reason + ")";
    text += '\n';
  }
  return text;
}

}  // namespace dynaflow::rows

#include "dynaflow/base/error.h"

#include <algorithm>
#include <utility>

#include "dynaflow/base/check.h"

namespace dynaflow {

Error::Error(Diagnostic finding) { findings.push_back(std::move(finding)); }

Error::Error(std::vector<Diagnostic> all) : findings(std::move(all)) {
  DYNAFLOW_CHECK(!findings.empty());
}

bool Error::broke(Rule rule) const {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Diagnostic& finding) { return finding.rule.id == rule.id; });
}

std::string to_string(const Diagnostic& finding) {
  const std::string id(finding.rule.id);
  std::string text = "error " + id + " " + std::string(finding.rule.name) + ": " + finding.message;
  if (!finding.where.empty()) text += "\n  where  " + finding.where;
  if (!finding.fix.empty()) text += "\n  fix    " + finding.fix;
  return text + "  (docs/rules.md, " + id + ")";
}

std::string to_string(const Error& error) {
  std::string text;
  for (const Diagnostic& finding : error.findings) {
    if (!text.empty()) text += '\n';
    text += to_string(finding);
  }
  return text;
}

}  // namespace dynaflow

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "dynaflow/base/rule.h"

namespace dynaflow {

/// One finding: which rule, what happened, where, and what to do about it.
struct Diagnostic {
  Rule rule;
  std::string message;
  std::string where;
  std::string fix;
};

/// Why something was refused: every finding at once, never empty.
struct Error {
  std::vector<Diagnostic> findings;

  explicit Error(Diagnostic finding);
  explicit Error(std::vector<Diagnostic> all);

  [[nodiscard]] const Diagnostic& first() const { return findings.front(); }
  /// Whether any finding broke this rule.
  [[nodiscard]] bool broke(Rule rule) const;
};

/// What a body throws where it knows more than that it failed: a rule of its own, and what to do.
class Failure : public std::runtime_error {
 public:
  Failure(Rule rule, const std::string& message, std::string fix)
      : std::runtime_error(message), rule_(rule), fix_(std::move(fix)) {}

  [[nodiscard]] Rule rule() const { return rule_; }
  [[nodiscard]] const std::string& fix() const { return fix_; }

 private:
  Rule rule_;
  std::string fix_;
};

/// The house form: `error S3 run-twice: …`, then indented `where` and `fix` lines.
[[nodiscard]] std::string to_string(const Diagnostic& finding);
[[nodiscard]] std::string to_string(const Error& error);

}  // namespace dynaflow

#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <string_view>

#include "dynaflow/base/result.h"

namespace dynaflow {

/// How GoogleTest prints one.
inline void PrintTo(const Diagnostic& finding, std::ostream* out) { *out << to_string(finding); }

namespace testing {

/// A Diagnostic of this rule.
MATCHER_P(Broke, rule, "broke " + std::string(rule.id)) {
  *result_listener << to_string(arg);
  return arg.rule.id == rule.id;
}

/// A Diagnostic whose message contains this text.
MATCHER_P(Says, text, "says \"" + std::string(text) + "\"") {
  return arg.message.find(text) != std::string::npos;
}

/// A Diagnostic whose place contains this text.
MATCHER_P(At, text, "at \"" + std::string(text) + "\"") {
  return arg.where.find(text) != std::string::npos;
}

/// A Result that was refused, first of all for this rule.
MATCHER_P(RefusedBy, rule, "refused by " + std::string(rule.id)) {
  if (arg.has_value()) {
    *result_listener << "was accepted";
    return false;
  }
  *result_listener << to_string(arg.error());
  return arg.error().first().rule.id == rule.id;
}

/// A Result that was refused, by a finding that says this.
MATCHER_P2(RefusedSaying, rule, text,
           "refused by " + std::string(rule.id) + " saying \"" + std::string(text) + "\"") {
  if (arg.has_value()) {
    *result_listener << "was accepted";
    return false;
  }
  *result_listener << to_string(arg.error());
  for (const Diagnostic& finding : arg.error().findings) {
    if (finding.rule.id == rule.id && finding.message.find(text) != std::string::npos) return true;
  }
  return false;
}

/// A Result that holds a value; prints the error if not.
MATCHER(Works, "works") {
  if (!arg.has_value()) *result_listener << to_string(arg.error());
  return arg.has_value();
}

}  // namespace testing
}  // namespace dynaflow

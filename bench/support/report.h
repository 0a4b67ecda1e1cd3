#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/rounds.h"

namespace dynaflow::bench {

/// What a benchmark found: printed as a table and written to build/bench/<name>.json. A budget is
/// the largest value that holds; a row without one only informs.
class Report {
 public:
  struct Row {
    std::string name;
    Spread value = {};
    std::string unit;
    std::optional<double> budget = {};
  };

  Report(std::string name, std::string title);

  void add(Row row) { rows_.push_back(std::move(row)); }
  /// Says below the table how these rounds went.
  void add_rounds(const std::string& of, const Rounds& rounds);

  /// Prints and writes.
  void finish() const;

 private:
  void print() const;
  void write() const;

  std::string name_;
  std::string title_;
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
};

/// A value that does not vary.
[[nodiscard]] inline Spread exactly(double value) { return {value, value, value}; }

}  // namespace dynaflow::bench

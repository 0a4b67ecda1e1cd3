#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "import/rows/families.h"

namespace dynaflow::rows {

/// One row of the table: the family of an operator, and where its arguments are.
struct Entry {
  std::string_view op;  ///< "aten::sum", or of one overload "aten::sum.dim_IntList"
  Family family = nullptr;
  Spots spots = {};
};

/// Every operator whose rows are understood, and those a user declared.
class Table {
 public:
  explicit Table(Declarations declarations) : declarations_(std::move(declarations)) {}

  /// Of the overload, else of the operator, else of the operator it is the in-place form of.
  [[nodiscard]] const Entry* find(const capture::Call& call) const;

 private:
  Declarations declarations_;
};

}  // namespace dynaflow::rows

#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "dynaflow/base/result.h"

namespace dynaflow::bindings {

/// Carries an Error to Python, where it becomes dynaflow.Error with its findings.
struct Refused : std::exception {
  explicit Refused(Error why) : error(std::move(why)), text(to_string(error)) {}
  [[nodiscard]] const char* what() const noexcept override { return text.c_str(); }

  Error error;
  std::string text;
};

template <class T>
T unwrap(Result<T> result) {
  if (!result) throw Refused(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// The exception's type and text, and the lines of Python it came through, the innermost first.
[[nodiscard]] std::string described(const pybind11::error_already_set& failure);
/// The same of a strategy's. What is no error but an end, such as KeyboardInterrupt, is kept
/// besides: the next Refused in this thread comes from it, and Python gets to see the interrupt
/// instead.
[[nodiscard]] std::string described_or_kept(const pybind11::error_already_set& failure);

void add_errors(pybind11::module_& module);

}  // namespace dynaflow::bindings

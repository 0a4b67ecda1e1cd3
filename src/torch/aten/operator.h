#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>

#include "import/capture/capture.h"

namespace dynaflow::aten {

/// An operator of the dispatcher, looked up once, and the form of it that writes where it is told.
class Operator {
 public:
  /// Throws std::invalid_argument where this process has no such operator.
  explicit Operator(const capture::Call& call);

  [[nodiscard]] const c10::OperatorHandle& functional() const { return functional_; }
  /// The overload that takes all outputs as its last arguments and has a kernel of its own, if any.
  [[nodiscard]] const std::optional<c10::OperatorHandle>& into() const { return into_; }

 private:
  c10::OperatorHandle functional_;
  std::optional<c10::OperatorHandle> into_;
};

}  // namespace dynaflow::aten

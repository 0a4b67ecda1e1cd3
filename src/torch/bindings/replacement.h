#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dynaflow/schedule/schedule_context.h"
#include "torch/bindings/traced_function.h"

namespace dynaflow::bindings {

/// Python functions in place of ops, for one recording: called with the tensors that the chain
/// reads, they return those that it writes. A function is traced where that is possible, once for
/// all chains of equal operands, and then runs without Python. Else it is called in each run, with
/// the GIL, and counted.
class Replacements {
 public:
  [[nodiscard]] Replacement make(const ScheduleContext& ctx, const std::vector<ReadyOp>& ops,
                                 const pybind11::function& function);

 private:
  using Key = std::pair<const void*, std::string>;  ///< the function, the operands' types

  const Traced& traced(const pybind11::function& function, const std::string& name,
                       const std::vector<ChainOperand>& operands, std::size_t reads);

  std::map<Key, Traced> traced_;
  std::vector<pybind11::function> held_;  ///< so that no two have one address
};

}  // namespace dynaflow::bindings

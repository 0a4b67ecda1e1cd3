#include "torch/aten/operator.h"

#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace dynaflow::aten {
namespace {

using c10::Argument;
using c10::FunctionSchema;
using c10::OperatorHandle;
using c10::OperatorName;

/// All overloads of each operator; the dispatcher itself finds them by full name only.
const std::vector<OperatorName>& overloads_of(const std::string& op) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<OperatorName>> known;
  const std::scoped_lock lock(mutex);
  const auto at = known.find(op);
  if (at != known.end()) return at->second;
  known.clear();  // a library may have been loaded since
  for (const OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    known[name.name].push_back(name);
  }
  return known[op];
}

bool is_out(const Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// Whether `out` is `schema` with one writable argument per return at the end.
bool is_out_form(const FunctionSchema& schema, const FunctionSchema& out) {
  const auto& plain = schema.arguments();
  const auto& with_out = out.arguments();
  if (with_out.size() != plain.size() + schema.returns().size()) return false;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i].name() != with_out[i].name() || *plain[i].type() != *with_out[i].type() ||
        is_out(with_out[i])) {
      return false;
    }
  }
  for (std::size_t i = plain.size(); i < with_out.size(); ++i) {
    if (!is_out(with_out[i]) || with_out[i].type()->kind() != c10::TypeKind::TensorType) {
      return false;
    }
  }
  return true;
}

/// Factories have their out forms without dtype, layout, device and pin_memory; those are wrapped
/// elsewhere. What is generated from the functional form would only run that and copy.
std::optional<OperatorHandle> find_out_form(const OperatorHandle& functional) {
  const FunctionSchema& schema = functional.schema();
  for (const OperatorName& name : overloads_of(schema.name())) {
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    if (!handle || !is_out_form(schema, handle->schema())) continue;
    if (handle->hasKernelForDispatchKey(c10::DispatchKey::CPU)) return handle;
  }
  return std::nullopt;
}

/// Collectives have forms of ours that are complete when they return.
std::string executable_name(const std::string& op) {
  for (const std::string_view library : {"_c10d_functional::", "_c10d_functional_autograd::"}) {
    if (op.starts_with(library) && op != "_c10d_functional::wait_tensor") {
      return "dynaflow::" + op.substr(library.size());
    }
  }
  return op;
}

OperatorHandle find(const capture::Call& call) {
  const auto handle =
      c10::Dispatcher::singleton().findSchema({executable_name(call.op), call.overload});
  if (!handle) {
    throw std::invalid_argument("no operator " + call.name() + " in this process: import the " +
                                "library that registers it first");
  }
  return *handle;
}

}  // namespace

Operator::Operator(const capture::Call& call)
    : functional_(find(call)), into_(find_out_form(functional_)) {}

}  // namespace dynaflow::aten

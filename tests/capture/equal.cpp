#include "capture/equal.h"

#include <bit>

namespace dynaflow::capture {
namespace {

bool same(const Argument& a, const Argument& b) {
  const auto* number = std::get_if<double>(&a.value);
  const auto* other = std::get_if<double>(&b.value);
  if (number != nullptr && other != nullptr) {  // a NaN is itself
    return std::bit_cast<std::uint64_t>(*number) == std::bit_cast<std::uint64_t>(*other);
  }
  if (a.list().empty() || a.list().size() != b.list().size()) return a == b;
  for (std::size_t i = 0; i < a.list().size(); ++i) {
    if (!same(a.list()[i], b.list()[i])) return false;
  }
  return true;
}

std::string differs(const Symbol& a, const Symbol& b) {
  if (a.name != b.name) return ".name";
  if (a.role != b.role) return ".role";
  if (a.function != b.function) return ".function";
  return a.arguments == b.arguments ? "" : ".arguments";
}

std::string differs(const Tensor& a, const Tensor& b) {
  if (a.name != b.name) return ".name";
  if (a.dtype != b.dtype) return ".dtype";
  if (a.sizes != b.sizes) return ".sizes";
  if (a.strides != b.strides) return ".strides";
  return a.offset == b.offset ? "" : ".offset";
}

std::string differs(const Input& a, const Input& b) {
  if (a.name != b.name) return ".name";
  if (a.role != b.role) return ".role";
  if (a.tensor != b.tensor) return ".tensor";
  return a.symbol == b.symbol ? "" : ".symbol";
}

std::string differs(const Call& a, const Call& b) {
  if (a.name() != b.name()) return ".op";
  if (a.arguments.size() != b.arguments.size()) return ".arguments";
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    if (!same(a.arguments[i], b.arguments[i])) return ".arguments[" + std::to_string(i) + "]";
  }
  if (a.outputs != b.outputs) return ".outputs";
  if (a.writes != b.writes) return ".writes";
  if (a.aliases != b.aliases) return ".aliases";
  if (a.updates != b.updates) return ".updates";
  if (a.tags != b.tags) return ".tags";
  if (a.modules != b.modules) return ".modules";
  if (a.user_calls != b.user_calls) return ".user_calls";
  if (a.marks != b.marks) return ".marks";
  return a.line == b.line ? "" : ".line";
}

std::string differs(const Output& a, const Output& b) {
  if (a.tensor != b.tensor) return ".tensor";
  if (a.symbol != b.symbol) return ".symbol";
  return a.scalar == b.scalar ? "" : ".scalar";
}

template <class Items>
std::string differs(const char* what, const Items& a, const Items& b) {
  if (a.size() != b.size()) return std::string(what) + ".size";
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string where = differs(a[i], b[i]);
    if (!where.empty()) return what + ("[" + std::to_string(i) + "]") + where;
  }
  return "";
}

}  // namespace

std::string difference(const Capture& a, const Capture& b) {
  if (a.name != b.name) return "name";
  for (const std::string& where :
       {differs("symbols", a.symbols, b.symbols), differs("tensors", a.tensors, b.tensors),
        differs("inputs", a.inputs, b.inputs), differs("calls", a.calls, b.calls),
        differs("outputs", a.outputs, b.outputs)}) {
    if (!where.empty()) return where;
  }
  return "";
}

}  // namespace dynaflow::capture

#include "torch/aten/values.h"

#include <ATen/ScalarOps.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace dynaflow::aten {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;
using capture::Argument;
using capture::Token;

constexpr std::array kTypes{
    std::pair{DType::kBool, c10::kBool},        std::pair{DType::kU8, c10::kByte},
    std::pair{DType::kI8, c10::kChar},          std::pair{DType::kI16, c10::kShort},
    std::pair{DType::kI32, c10::kInt},          std::pair{DType::kI64, c10::kLong},
    std::pair{DType::kF16, c10::kHalf},         std::pair{DType::kBF16, c10::kBFloat16},
    std::pair{DType::kF32, c10::kFloat},        std::pair{DType::kF64, c10::kDouble},
    std::pair{DType::kC64, c10::kComplexFloat}, std::pair{DType::kC128, c10::kComplexDouble},
};

[[noreturn]] void misfit(const char* wanted) {
  throw std::invalid_argument(std::string("an argument is no ") + wanted);
}

c10::Scalar to_scalar(const Argument& argument, const Scope& scope) {
  if (const auto* value = std::get_if<bool>(&argument.value)) return *value;
  if (const auto* value = std::get_if<double>(&argument.value)) return *value;
  if (const auto size = argument.size()) return size->evaluate(scope.symbols);
  if (const auto* token = std::get_if<Token>(&argument.value)) {
    const auto parts = nlohmann::json::parse(token->text);
    return c10::complex<double>(parts.at(0).get<double>(), parts.at(1).get<double>());
  }
  misfit("number");
}

IValue from_token(const Token& token) {
  switch (token.what) {
    case Token::What::kDType:
      for (const auto& [dtype, type] : kTypes) {
        if (to_string(dtype) == token.text) return static_cast<std::int64_t>(type);
      }
      throw std::invalid_argument("no dtype '" + token.text + "'");
    case Token::What::kDevice:
      return c10::Device(token.text);
    case Token::What::kLayout:
      return static_cast<std::int64_t>(c10::Layout::Strided);
    case Token::What::kMemoryFormat:
    case Token::What::kComplex:
      break;
  }
  using c10::MemoryFormat;
  const auto format = token.text == "channels_last"      ? MemoryFormat::ChannelsLast
                      : token.text == "channels_last_3d" ? MemoryFormat::ChannelsLast3d
                      : token.text == "preserve"         ? MemoryFormat::Preserve
                                                         : MemoryFormat::Contiguous;
  return static_cast<std::int64_t>(format);
}

template <class T, class F>
IValue to_list(const Argument& argument, const F& item_of) {
  c10::List<T> list;
  for (const Argument& item : argument.list()) list.push_back(item_of(item));
  return list;
}

IValue to_list_of(const Argument& argument, const TypePtr& element, const Scope& scope) {
  // A single number where a list is expected stands for a list of one.
  if (!std::holds_alternative<Argument::List>(argument.value)) {
    return to_list_of({Argument::List{argument}}, element, scope);
  }
  switch (element->kind()) {
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return to_list<std::int64_t>(
          argument, [&](const Argument& item) { return to_scalar(item, scope).toLong(); });
    case TypeKind::FloatType:
      return to_list<double>(
          argument, [&](const Argument& item) { return to_scalar(item, scope).toDouble(); });
    case TypeKind::BoolType:
      return to_list<bool>(argument,
                           [&](const Argument& item) { return to_scalar(item, scope).toBool(); });
    case TypeKind::TensorType:
      return to_list<at::Tensor>(argument, [&](const Argument& item) {
        return to_ivalue(item, element, scope).toTensor();
      });
    case TypeKind::OptionalType:
      return to_list<std::optional<at::Tensor>>(argument, [&](const Argument& item) {
        return item.is_none() ? std::nullopt : std::optional(scope.tensor(item.tensor().value()));
      });
    default:
      break;
  }
  c10::impl::GenericList list(element);
  for (const Argument& item : argument.list()) list.push_back(to_ivalue(item, element, scope));
  return list;
}

}  // namespace

c10::ScalarType to_scalar_type(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) return theirs;
  }
  misfit("dtype");
}

DType to_dtype(c10::ScalarType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  throw std::invalid_argument(std::string("dtype ") + c10::toString(type) + " is not supported");
}

std::vector<std::int64_t> evaluate(const std::vector<Extent>& extents,
                                   std::span<const std::int64_t> symbols) {
  std::vector<std::int64_t> values;
  values.reserve(extents.size());
  for (const Extent& extent : extents) values.push_back(extent.evaluate(symbols));
  return values;
}

IValue to_ivalue(const Argument& argument, const TypePtr& type, const Scope& scope) {
  if (argument.is_none()) return {};
  const auto* token = std::get_if<Token>(&argument.value);
  if (token != nullptr && token->what != Token::What::kComplex) return from_token(*token);
  switch (type->kind()) {
    case TypeKind::OptionalType:
      return to_ivalue(argument, type->expectRef<c10::OptionalType>().getElementType(), scope);
    case TypeKind::TensorType:
      if (const auto tensor = argument.tensor()) return scope.tensor(*tensor);
      // A Python number where a tensor is expected does not decide the result's dtype.
      return at::native::wrapped_scalar_tensor(to_scalar(argument, scope));
    case TypeKind::ListType:
      return to_list_of(argument, type->expectRef<c10::ListType>().getElementType(), scope);
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return to_scalar(argument, scope).toLong();
    case TypeKind::FloatType:
      return to_scalar(argument, scope).toDouble();
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      return to_scalar(argument, scope).toBool();
    case TypeKind::NumberType:
      return to_scalar(argument, scope);
    default:
      break;
  }
  if (const auto* text = std::get_if<std::string>(&argument.value)) return *text;
  if (const auto tensor = argument.tensor()) return scope.tensor(*tensor);
  return to_scalar(argument, scope);
}

}  // namespace dynaflow::aten

#pragma once

#include <array>
#include <string_view>

#include "import/capture/capture.h"

/// The words of a Capture's document, for who reads it and who writes it.
namespace dynaflow::capture::json {

inline constexpr std::string_view kFormat = "dynaflow-capture/1";

template <class T>
struct Name {
  std::string_view text;
  T value;
};

inline constexpr std::array kDTypes{
    Name{"bool", DType::kBool}, Name{"u8", DType::kU8},     Name{"i8", DType::kI8},
    Name{"i16", DType::kI16},   Name{"i32", DType::kI32},   Name{"i64", DType::kI64},
    Name{"f16", DType::kF16},   Name{"bf16", DType::kBF16}, Name{"f32", DType::kF32},
    Name{"f64", DType::kF64},   Name{"c64", DType::kC64},   Name{"c128", DType::kC128},
};
inline constexpr std::array kSymbolRoles{
    Name{"batch", Symbol::Role::kBatch},
    Name{"size", Symbol::Role::kSize},
    Name{"data", Symbol::Role::kData},
};
inline constexpr std::array kInputRoles{
    Name{"argument", Input::Role::kArgument}, Name{"parameter", Input::Role::kParameter},
    Name{"buffer", Input::Role::kBuffer},     Name{"constant", Input::Role::kConstant},
    Name{"symbol", Input::Role::kSymbol},     Name{"scalar", Input::Role::kScalar},
};
inline constexpr std::array kFunctions{
    Name{"floordiv", Symbol::Function::kFloorDiv},
    Name{"mod", Symbol::Function::kMod},
    Name{"max", Symbol::Function::kMax},
    Name{"min", Symbol::Function::kMin},
};
inline constexpr std::array kTokens{
    Name{"dtype", Token::What::kDType},
    Name{"device", Token::What::kDevice},
    Name{"layout", Token::What::kLayout},
    Name{"memory_format", Token::What::kMemoryFormat},
    Name{"scalar_complex", Token::What::kComplex},
};

}  // namespace dynaflow::capture::json

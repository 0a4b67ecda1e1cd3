#include <array>
#include <vector>

#include "import/rows/table_rows.h"

namespace dynaflow::rows {
namespace {

constexpr std::array kPointwise = {
    // arithmetic
    "aten::add", "aten::sub", "aten::rsub", "aten::mul", "aten::div", "aten::true_divide",
    "aten::floor_divide", "aten::remainder", "aten::fmod", "aten::neg", "aten::abs", "aten::sign",
    "aten::sgn", "aten::reciprocal", "aten::square", "aten::pow", "aten::sqrt", "aten::rsqrt",
    "aten::addcmul", "aten::addcdiv", "aten::lerp", "aten::maximum", "aten::minimum", "aten::fmax",
    "aten::fmin", "aten::max.other", "aten::min.other", "aten::clamp", "aten::clamp_min",
    "aten::clamp_max", "aten::clip", "aten::hypot", "aten::copysign", "aten::nan_to_num",
    "aten::angle", "aten::gcd", "aten::lcm",
    // rounding
    "aten::floor", "aten::ceil", "aten::round", "aten::trunc", "aten::frac",
    // transcendental
    "aten::exp", "aten::exp2", "aten::expm1", "aten::log", "aten::log2", "aten::log10",
    "aten::log1p", "aten::logaddexp", "aten::logaddexp2", "aten::xlogy", "aten::sin", "aten::cos",
    "aten::tan", "aten::asin", "aten::acos", "aten::atan", "aten::atan2", "aten::sinh",
    "aten::cosh", "aten::tanh", "aten::asinh", "aten::acosh", "aten::atanh", "aten::erf",
    "aten::erfc", "aten::erfinv", "aten::lgamma", "aten::digamma", "aten::sinc", "aten::logit",
    // activations
    "aten::relu", "aten::relu6", "aten::leaky_relu", "aten::elu", "aten::celu", "aten::selu",
    "aten::gelu", "aten::silu", "aten::mish", "aten::sigmoid", "aten::log_sigmoid_forward",
    "aten::hardtanh", "aten::hardsigmoid", "aten::hardswish", "aten::softplus", "aten::softshrink",
    "aten::hardshrink", "aten::threshold",
    // comparisons and logic
    "aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge", "aten::isnan",
    "aten::isinf", "aten::isfinite", "aten::isposinf", "aten::isneginf", "aten::isclose",
    "aten::signbit", "aten::logical_and", "aten::logical_or", "aten::logical_xor",
    "aten::logical_not", "aten::bitwise_and", "aten::bitwise_or", "aten::bitwise_xor",
    "aten::bitwise_not", "aten::bitwise_left_shift", "aten::bitwise_right_shift", "aten::__and__",
    "aten::__or__", "aten::__xor__", "aten::where.self", "aten::where.ScalarSelf",
    "aten::where.ScalarOther", "aten::where.Scalar", "aten::masked_fill", "aten::heaviside",
    // copies
    "aten::_to_copy", "aten::to", "aten::clone", "aten::contiguous", "aten::copy",
    "aten::lift_fresh_copy", "aten::conj", "aten::_conj", "aten::_conj_physical",
    "aten::resolve_conj", "aten::resolve_neg", "aten::real", "aten::imag", "aten::complex",
    "aten::polar", "aten::positive", "prims::convert_element_type", "prims::device_put",
    // random: the numbers are drawn for the whole batch
    "aten::native_dropout", "aten::dropout", "aten::bernoulli", "aten::normal.Tensor_float",
    "aten::normal.float_Tensor", "aten::normal.Tensor_Tensor",
    // gradients
    "aten::threshold_backward", "aten::gelu_backward", "aten::silu_backward",
    "aten::sigmoid_backward", "aten::tanh_backward", "aten::native_dropout_backward",
    "aten::leaky_relu_backward", "aten::elu_backward", "aten::hardtanh_backward",
    "aten::hardswish_backward", "aten::hardsigmoid_backward", "aten::softplus_backward",
    "aten::mish_backward", "aten::logit_backward", "aten::log_sigmoid_backward",
    // every rank adds the same rows of its own
    "_c10d_functional::all_reduce", "_c10d_functional::all_reduce_", "_c10d_functional::broadcast",
    "_c10d_functional::broadcast_", "_c10d_functional::wait_tensor"};

}  // namespace

std::span<const Entry> pointwise_rows() {
  static const auto kRows = [] {
    std::vector<Entry> entries;
    entries.reserve(kPointwise.size());
    for (const char* const op : kPointwise) entries.push_back({.op = op, .family = pointwise});
    return entries;
  }();
  return kRows;
}

}  // namespace dynaflow::rows

#include "support/sketch.h"

#include <algorithm>
#include <array>

namespace dynaflow::rows {

using capture::TensorId;

namespace {

std::size_t maker_of(const Rows& rows, TensorId tensor) {
  const auto& calls = rows.capture.calls;
  const auto at = std::ranges::find_if(calls, [&](const capture::Call& call) {
    return std::ranges::find(call.outputs, tensor) != call.outputs.end();
  });
  return static_cast<std::size_t>(at - calls.begin());
}

}  // namespace

std::string name_of(CallRows::Runs runs) {
  constexpr std::array kNames = {"row-wise", "once", "merged", "drawn", "unknown"};
  return kNames.at(static_cast<std::size_t>(runs));
}

Sketch::Sketch() {
  capture_.name = "sketch";
  capture_.symbols = {{.name = "B", .role = capture::Symbol::Role::kBatch}, {.name = "S"}};
}

TensorId Sketch::input(Sizes sizes, DType dtype) {
  const TensorId tensor = add(std::move(sizes), dtype);
  capture_.inputs.push_back({.name = capture_.tensor(tensor).name, .tensor = tensor});
  return tensor;
}

TensorId Sketch::weight(Sizes sizes, DType dtype) {
  const TensorId tensor = input(std::move(sizes), dtype);
  capture_.inputs.back().role = capture::Input::Role::kParameter;
  return tensor;
}

TensorId Sketch::call(const std::string& name, std::initializer_list<Given> arguments, Sizes sizes,
                      DType dtype) {
  return calls(name, arguments, {std::move(sizes)}, dtype).front();
}

std::vector<TensorId> Sketch::calls(const std::string& name, std::initializer_list<Given> arguments,
                                    const std::vector<Sizes>& sizes, DType dtype) {
  const std::size_t dot = name.find('.');
  capture::Call call{.op = name.substr(0, dot),
                     .overload = dot == std::string::npos ? "" : name.substr(dot + 1),
                     .arguments = {arguments.begin(), arguments.end()},
                     .outputs = {}};
  for (const Sizes& size : sizes) call.outputs.push_back(add(size, dtype));
  capture_.calls.push_back(call);
  return call.outputs;
}

TensorId Sketch::view(const std::string& name, std::initializer_list<Given> arguments,
                      Sizes sizes) {
  const TensorId of = arguments.begin()->tensor().value();
  const TensorId seen = call(name, arguments, std::move(sizes), capture_.tensor(of).dtype);
  last().aliases = {{.output = 0, .argument = 0}};
  return seen;
}

TensorId Sketch::write(const std::string& name, std::initializer_list<Given> arguments) {
  const TensorId to = arguments.begin()->tensor().value();
  const capture::Tensor& tensor = capture_.tensor(to);
  const TensorId written = call(name, arguments, tensor.sizes, tensor.dtype);
  last().writes = {0};
  last().aliases = {{.output = 0, .argument = 0}};
  return written;
}

TensorId Sketch::add(Sizes sizes, DType dtype) {
  const auto id = id_at<TensorId>(capture_.tensors.size());
  std::vector<Extent> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  capture_.tensors.push_back({.name = "t" + std::to_string(id.index),
                              .dtype = dtype,
                              .sizes = std::move(sizes),
                              .strides = std::move(strides)});
  return id;
}

std::string Sketch::answer(TensorId tensor, const Declarations& declarations) const {
  const Rows found = rows(declarations);
  return name_of(found.calls[maker_of(found, tensor)].runs) + ", " +
         to_string(found.tensors[tensor.index]);
}

std::string Sketch::reason(TensorId tensor) const {
  const Rows found = rows();
  return found.calls[maker_of(found, tensor)].reason;
}

}  // namespace dynaflow::rows

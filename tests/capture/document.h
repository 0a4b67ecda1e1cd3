#pragma once

#include <nlohmann/json.hpp>

#include "import/capture/json.h"

namespace dynaflow::capture {

/// A small document with something of everything, to be spoilt in one place.
[[nodiscard]] inline nlohmann::ordered_json document() {
  return nlohmann::ordered_json::parse(R"({
    "format": "dynaflow-capture/1", "name": "small",
    "symbols": [{"name": "B", "role": "batch"}, {"name": "S", "role": "size"},
                {"name": "n", "role": "data"}],
    "tensors": [
      {"name": "x", "dtype": "f32", "sizes": ["B", "S", 8],
       "strides": [["mul", "S", 8], 8, 1], "offset": 0},
      {"name": "w", "dtype": "bf16", "sizes": [8], "strides": [1]},
      {"name": "y", "dtype": "f32", "sizes": ["B", ["floordiv", "S", 2]],
       "strides": [["floordiv", "S", 2], 1], "offset": ["add", "S", 1]},
      {"name": "z", "dtype": "i64", "sizes": ["n"], "strides": [1]}],
    "inputs": [{"name": "B", "role": "symbol", "symbol": "B"},
               {"name": "x", "role": "argument", "tensor": 0},
               {"name": "scale", "role": "scalar"},
               {"name": "layer.weight", "role": "parameter", "tensor": 1}],
    "calls": [
      {"op": "my::pool", "overload": "two",
       "arguments": [{"t": 0}, [{"t": 1}, null, -1], true, 2, 0.5, "mean", {"e": ["mul", 2, "B"]},
                     {"float": "-inf"}, {"float": "nan"}, {"float": "inf"}, {"dtype": "f16"},
                     {"device": "cpu"}, {"layout": "strided"}, {"memory_format": "preserve"},
                     {"scalar_complex": [0.0, 1.0]}],
       "outputs": [2, null], "writes": [0], "aliases": [[0, 0]], "updates": [[1, 0]],
       "tags": ["pointwise"], "modules": [["layers.0", "Layer"]], "user_calls": [["pool", "pool_1"]],
       "marks": [{"name": "here", "tags": ["slow"]}], "line": "model.py:3"},
      {"op": "aten::nonzero", "overload": "", "arguments": [{"t": 2}], "outputs": [3]}],
    "outputs": [{"tensor": 2}, {"symbol": ["add", "B", 1]}, {"scalar": 3}, null]})");
}

/// Why the document is no Capture: "message @ place"; "fine" where it is one.
[[nodiscard]] inline std::string complaint(const nlohmann::ordered_json& document) {
  const auto read = from_json(document.dump());
  if (read) return "fine";
  if (!read.error().broke(kBadCapture)) return "another rule";
  return read.error().first().message + " @ " + read.error().first().where;
}

}  // namespace dynaflow::capture

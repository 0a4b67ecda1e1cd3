#include "support/decoder.h"

#include <utility>

#include "dynaflow/base/check.h"

namespace dynaflow::bench {
namespace {

void do_nothing(const KernelArgs& /*args*/) {}

}  // namespace

DecoderShape DecoderShape::with_ops(int ops) {
  DYNAFLOW_CHECK((ops - kOtherOps) % kOpsPerLayer == 0);
  DecoderShape shape;
  shape.layers = (ops - kOtherOps) / kOpsPerLayer;
  return shape;
}

ValueId DecoderBuilder::activation(const std::string& name, std::int64_t elements, DType dtype) {
  return graph_.value(name, {Kind::kSplit, dtype, elements});
}

ValueId DecoderBuilder::weight(const std::string& name, std::int64_t elements) {
  return graph_.input(name + ".weight", {Kind::kWhole, DType::kBF16, elements});
}

void DecoderBuilder::op(const std::string& name, std::vector<ValueId> reads,
                        std::vector<ValueId> writes) {
  graph_.op(
      {.name = name, .reads = std::move(reads), .writes = std::move(writes), .kernel = do_nothing});
}

void DecoderBuilder::all_reduce(const std::string& name, ValueId value) {
  graph_.op({.name = name,
             .updates = {value},
             .tags = {"network"},
             .cost = CostClass::kNetwork,
             .group = "tensor_parallel",
             .kernel = do_nothing});
}

ValueId DecoderBuilder::add(const std::string& name, ValueId a, ValueId b) {
  const ValueId sum = activation(name, shape_.hidden);
  op(name, {a, b}, {sum});
  return sum;
}

Norm DecoderBuilder::norm(const std::string& name, ValueId x, Purpose purpose) {
  Norm norm{x, weight(name, shape_.hidden), {}, activation(name, shape_.hidden)};
  if (purpose == Purpose::kTraining) {
    norm.statistics = activation(name + ".rstd", 1, DType::kF32);
    op(name, {x, norm.weight}, {norm.y, norm.statistics});
  } else {
    op(name, {x, norm.weight}, {norm.y});
  }
  return norm;
}

Linear DecoderBuilder::linear(const std::string& name, ValueId x, std::int64_t in,
                              std::int64_t out) {
  const Linear linear{x, weight(name, in * out), activation(name, out)};
  op(name, {x, linear.weight}, {linear.y});
  return linear;
}

void DecoderBuilder::attention(const std::string& name, DecoderLayer& layer, Purpose purpose) {
  const std::int64_t hidden = shape_.hidden;
  layer.q = graph_.view(name + ".q", layer.qkv.y, 0, hidden);
  layer.k = graph_.view(name + ".k", layer.qkv.y, hidden, hidden);
  layer.v = graph_.view(name + ".v", layer.qkv.y, 2 * hidden, hidden);
  layer.attention = activation(name, hidden);
  OpSpec spec{.name = name,
              .reads = {layer.q, layer.k, layer.v},
              .writes = {layer.attention},
              .kernel = do_nothing};
  if (purpose == Purpose::kTraining) {
    layer.attention_statistics = activation(name + ".lse", shape_.heads, DType::kF32);
    spec.writes.push_back(layer.attention_statistics);
  } else {
    spec.effects.push_back({graph_.state(name + ".kv"), Access::kUpdate, Rows::kOwn});
  }
  graph_.op(std::move(spec));
}

ValueId DecoderBuilder::layer(const std::string& name, ValueId x, Purpose purpose,
                              DecoderLayer& layer) {
  const std::int64_t hidden = shape_.hidden;
  layer.attention_norm = norm(name + "attention_norm", x, purpose);
  layer.qkv = linear(name + "qkv", layer.attention_norm.y, hidden, 3 * hidden);
  attention(name + "attention", layer, purpose);
  layer.proj = linear(name + "proj", layer.attention, hidden, hidden);
  all_reduce(name + "proj.all_reduce", layer.proj.y);
  const ValueId h = add(name + "attention_add", x, layer.proj.y);

  layer.ffn_norm = norm(name + "ffn_norm", h, purpose);
  layer.gate_up = linear(name + "gate_up", layer.ffn_norm.y, hidden, 2 * shape_.ffn);
  layer.act = activation(name + "act", shape_.ffn);
  op(name + "act", {layer.gate_up.y}, {layer.act});
  layer.down = linear(name + "down", layer.act, shape_.ffn, hidden);
  all_reduce(name + "down.all_reduce", layer.down.y);
  return add(name + "ffn_add", h, layer.down.y);
}

DecoderValues DecoderBuilder::forward(Purpose purpose) {
  DecoderValues values;
  values.tokens = graph_.input("tokens", {Kind::kSplit, DType::kI64, 1});
  values.table = weight("embed", shape_.vocab * shape_.hidden);
  ValueId x = activation("embed", shape_.hidden);
  op("embed", {values.tokens, values.table}, {x});
  for (int i = 0; i < shape_.layers; ++i) {
    x = layer("layers." + std::to_string(i) + ".", x, purpose, values.layers.emplace_back());
  }
  values.final_norm = norm("final_norm", x, purpose);
  values.head = linear("head", values.final_norm.y, shape_.hidden, shape_.vocab);
  all_reduce("head.gather", values.head.y);
  return values;
}

Graph make_inference_decoder(const DecoderShape& shape) {
  GraphBuilder graph("decoder");
  const DecoderValues values = DecoderBuilder(graph, shape).forward(Purpose::kInference);
  graph.output(values.head.y);
  return graph.build().value();
}

}  // namespace dynaflow::bench

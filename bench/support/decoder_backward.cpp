#include "support/decoder_backward.h"

namespace dynaflow::bench {
namespace {

/// Adds the backward ops, last layer first. `dy` is always the gradient of what an op made.
class BackwardBuilder {
 public:
  BackwardBuilder(GraphBuilder& graph, DecoderBuilder& decoder)
      : graph_(graph), decoder_(decoder), shape_(decoder.shape()) {}

  void backward(const DecoderValues& values) {
    ValueId dy = loss(values.head.y);
    dy = linear("head", values.head, dy, shape_.hidden, shape_.vocab);
    decoder_.all_reduce("head.grad.all_reduce", dy);
    dy = norm("final_norm", values.final_norm, dy);
    for (int i = shape_.layers; i-- > 0;) {
      dy = layer("layers." + std::to_string(i) + ".", values.layers[static_cast<std::size_t>(i)],
                 dy);
    }
    const ValueId dtable = parameter_gradient("embed", shape_.vocab * shape_.hidden);
    decoder_.op("embed.grad", {values.tokens, dy}, {dtable});
  }

 private:
  ValueId parameter_gradient(const std::string& name, std::int64_t elements) {
    const ValueId gradient =
        graph_.value(name + ".weight.grad", {Kind::kPartial, DType::kF32, elements});
    graph_.output(gradient);
    return gradient;
  }

  ValueId loss(ValueId logits) {
    const ValueId targets = graph_.input("targets", {Kind::kSplit, DType::kI64, 1});
    const ValueId sum = graph_.value("loss", {Kind::kPartial, DType::kF32, 1});
    const ValueId dlogits = decoder_.activation("loss.grad", shape_.vocab);
    decoder_.op("loss", {logits, targets}, {sum});
    decoder_.op("loss.grad", {logits, targets}, {dlogits});
    graph_.output(sum);
    return dlogits;
  }

  ValueId linear(const std::string& name, const Linear& of, ValueId dy, std::int64_t in,
                 std::int64_t out) {
    const ValueId dx = decoder_.activation(name + ".grad", in);
    decoder_.op(name + ".grad", {dy, of.weight}, {dx});
    decoder_.op(name + ".weight.grad", {of.x, dy}, {parameter_gradient(name, in * out)});
    return dx;
  }

  ValueId norm(const std::string& name, const Norm& of, ValueId dy) {
    const ValueId dx = decoder_.activation(name + ".grad", shape_.hidden);
    decoder_.op(name + ".grad", {dy, of.x, of.weight, of.statistics}, {dx});
    decoder_.op(name + ".weight.grad", {dy, of.x, of.statistics},
                {parameter_gradient(name, shape_.hidden)});
    return dx;
  }

  ValueId attention(const std::string& name, const DecoderLayer& of, ValueId dy) {
    const ValueId dqkv = decoder_.activation(name + ".grad", 3 * shape_.hidden);
    decoder_.op(name + ".grad", {dy, of.q, of.k, of.v, of.attention, of.attention_statistics},
                {dqkv});
    return dqkv;
  }

  /// The all-reduces of a layer's backward pass are where its inputs were shared by all devices.
  ValueId layer(const std::string& name, const DecoderLayer& of, ValueId dy) {
    const std::int64_t hidden = shape_.hidden;
    const ValueId dact = linear(name + "down", of.down, dy, shape_.ffn, hidden);
    const ValueId dgate_up = decoder_.activation(name + "act.grad", 2 * shape_.ffn);
    decoder_.op(name + "act.grad", {dact, of.gate_up.y}, {dgate_up});
    const ValueId dffn = linear(name + "gate_up", of.gate_up, dgate_up, hidden, 2 * shape_.ffn);
    decoder_.all_reduce(name + "gate_up.grad.all_reduce", dffn);
    const ValueId dh =
        decoder_.add(name + "ffn_add.grad", dy, norm(name + "ffn_norm", of.ffn_norm, dffn));

    const ValueId dattention = linear(name + "proj", of.proj, dh, hidden, hidden);
    const ValueId dqkv = attention(name + "attention", of, dattention);
    const ValueId dx = linear(name + "qkv", of.qkv, dqkv, hidden, 3 * hidden);
    decoder_.all_reduce(name + "qkv.grad.all_reduce", dx);
    return decoder_.add(name + "attention_add.grad", dh,
                        norm(name + "attention_norm", of.attention_norm, dx));
  }

  GraphBuilder& graph_;
  DecoderBuilder& decoder_;
  const DecoderShape& shape_;
};

}  // namespace

Graph make_training_decoder(const DecoderShape& shape) {
  GraphBuilder graph("training_decoder");
  DecoderBuilder decoder(graph, shape);
  const DecoderValues values = decoder.forward(Purpose::kTraining);
  BackwardBuilder(graph, decoder).backward(values);
  return graph.build().value();
}

}  // namespace dynaflow::bench

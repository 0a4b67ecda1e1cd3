#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dynaflow/graph/builder.h"

namespace dynaflow::bench {

/// A decoder-only transformer, split over devices as Megatron does it: an all-reduce, tagged
/// "network", after attention and after the feed-forward part. bf16, with statistics in f32.
struct DecoderShape {
  static constexpr int kOpsPerLayer = 12;
  static constexpr int kOtherOps = 4;  ///< embed, final norm, head, gather

  int layers = 32;
  std::int64_t hidden = 1'024;
  std::int64_t ffn = 4'096;
  std::int64_t heads = 16;
  std::int64_t vocab = 32'000;

  /// As many layers as make `ops` forward ops; 100, 1,000 and 10,000 come out even.
  [[nodiscard]] static DecoderShape with_ops(int ops);
};

/// What the forward pass is for.
enum class Purpose : std::uint8_t {
  kInference,  ///< attention updates a KV cache
  kTraining,   ///< norms and attention also leave the statistics that backward needs
};

/// The values of one norm: y = norm(x) * weight.
struct Norm {
  ValueId x, weight, statistics, y;
};

/// The values of one linear op: y = x * weight.
struct Linear {
  ValueId x, weight, y;
};

/// The values of one layer, by the op that makes them.
struct DecoderLayer {
  Norm attention_norm;
  Linear qkv;
  ValueId q, k, v, attention_statistics, attention;
  Linear proj;
  Norm ffn_norm;
  Linear gate_up;
  ValueId act;
  Linear down;
};

/// The values of a forward pass.
struct DecoderValues {
  ValueId tokens, table;
  std::vector<DecoderLayer> layers;
  Norm final_norm;
  Linear head;
};

/// Adds the ops of a decoder to a graph, an op a line. Every kernel is empty: such a graph is
/// planned and placed, and runs only to be measured.
class DecoderBuilder {
 public:
  DecoderBuilder(GraphBuilder& graph, const DecoderShape& shape) : graph_(graph), shape_(shape) {}

  DecoderValues forward(Purpose purpose);

  /// A value with `elements` per batch row.
  ValueId activation(const std::string& name, std::int64_t elements, DType dtype = DType::kBF16);
  void op(const std::string& name, std::vector<ValueId> reads, std::vector<ValueId> writes);
  /// In place, on the network.
  void all_reduce(const std::string& name, ValueId value);
  ValueId add(const std::string& name, ValueId a, ValueId b);

  [[nodiscard]] const DecoderShape& shape() const { return shape_; }

 private:
  ValueId weight(const std::string& name, std::int64_t elements);
  Norm norm(const std::string& name, ValueId x, Purpose purpose);
  Linear linear(const std::string& name, ValueId x, std::int64_t in, std::int64_t out);
  void attention(const std::string& name, DecoderLayer& layer, Purpose purpose);
  /// Returns the layer's output.
  ValueId layer(const std::string& name, ValueId x, Purpose purpose, DecoderLayer& layer);

  GraphBuilder& graph_;
  DecoderShape shape_;
};

/// The forward pass of inference: tokens in, logits of the whole vocabulary out.
[[nodiscard]] Graph make_inference_decoder(const DecoderShape& shape);

}  // namespace dynaflow::bench

#pragma once

#include "support/decoder.h"

namespace dynaflow::bench {

/// Forward and backward pass of the same decoder as one graph: activations stay in the arena until
/// backward has read them, gradients of activations are split, those of parameters are partial sums
/// that the caller gets.
[[nodiscard]] Graph make_training_decoder(const DecoderShape& shape);

}  // namespace dynaflow::bench

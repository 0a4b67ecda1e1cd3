#include "dynaflow/graph/body.h"

namespace dynaflow {

BoundBody::~BoundBody() = default;

Body::~Body() = default;

bool Body::passes_turn() const { return false; }

std::int64_t Body::scratch_bytes(const BindArgs& /*args*/) const { return 0; }

}  // namespace dynaflow

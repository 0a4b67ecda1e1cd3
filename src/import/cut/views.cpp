#include "import/cut/views.h"

#include <algorithm>

#include "dynaflow/base/check.h"

namespace dynaflow::cut {
namespace {

using capture::Call;
using capture::CallId;
using capture::Capture;
using capture::TensorId;

/// Calls that give back their first argument's memory, though their schema does not say so. A
/// collective is complete when its op is, so to wait for it is nothing more than to look at it.
bool shares_unsaid(const Call& call) {
  return call.op == "aten::_unsafe_view" || call.op == "_c10d_functional::wait_tensor";
}

/// The tensor whose memory output `output` of the call is; invalid if it has its own.
TensorId aliased(const Call& call, std::uint32_t output) {
  for (const Call::Update& update : call.updates) {
    if (update.output == output) return update.tensor;
  }
  for (const Call::Alias& alias : call.aliases) {
    if (alias.output == output) {
      return call.arguments[alias.argument].tensor().value_or(TensorId{});
    }
  }
  if (shares_unsaid(call)) return call.arguments[0].tensor().value_or(TensorId{});
  return {};
}

}  // namespace

bool is_view(const Call& call) {
  if (!call.writes.empty() || !call.updates.empty()) return false;
  return !call.aliases.empty() || shares_unsaid(call);
}

Views::Views(const Capture& capture) : producer(capture.tensors.size()) {
  base.reserve(capture.tensors.size());
  for (std::size_t i = 0; i < capture.tensors.size(); ++i) base.push_back(id_at<TensorId>(i));
  for (std::size_t c = 0; c < capture.calls.size(); ++c) {
    const Call& call = capture.calls[c];
    for (std::uint32_t k = 0; k < call.outputs.size(); ++k) {
      if (!call.outputs[k].valid()) continue;
      producer[call.outputs[k].index] = id_at<CallId>(c);
      const TensorId of = aliased(call, k);
      if (of.valid()) base[call.outputs[k].index] = base[of.index];
    }
  }
}

std::vector<Views::Link> Views::chain(const Capture& capture, TensorId tensor) const {
  std::vector<Link> links;
  while (base[tensor.index] != tensor) {
    const CallId made = producer[tensor.index];
    const Call& call = capture.call(made);
    const auto output =
        static_cast<std::uint32_t>(std::ranges::find(call.outputs, tensor) - call.outputs.begin());
    if (is_view(call)) links.push_back({made, output});  // else written in place: the argument
    tensor = aliased(call, output);
    DYNAFLOW_CHECK(tensor.valid());
  }
  std::ranges::reverse(links);
  return links;
}

}  // namespace dynaflow::cut

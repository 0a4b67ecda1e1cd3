#include <algorithm>

#include "import/cut/regions.h"

namespace dynaflow::cut {
namespace {

using capture::Call;
using capture::CallId;
using capture::TensorId;

/// Who touched one memory last.
struct Memory {
  CallId writer;
  std::vector<CallId> readers;  ///< since
};

}  // namespace

std::vector<std::vector<CallId>> find_dependencies(const capture::Capture& capture,
                                                   const Views& views, const rows::Rows& rows) {
  std::vector<std::vector<CallId>> before(capture.calls.size());
  std::vector<Memory> memory(capture.tensors.size());
  CallId drawn;
  for (std::size_t c = 0; c < capture.calls.size(); ++c) {
    const Call& call = capture.calls[c];
    if (is_view(call)) continue;
    const auto id = id_at<CallId>(c);
    const auto after = [&](CallId other) {
      if (other.valid() && other != id) before[c].push_back(other);
    };
    for_each_input(call, [&](TensorId tensor) {
      Memory& touched = memory[views.base[tensor.index].index];
      after(touched.writer);
      touched.readers.push_back(id);
    });
    for (const std::uint32_t written : call.writes) {
      capture::for_each_tensor(call.arguments[written], [&](TensorId tensor) {
        Memory& touched = memory[views.base[tensor.index].index];
        for (const CallId reader : touched.readers) after(reader);
        touched = {id, {}};
      });
    }
    for (const TensorId output : call.outputs) {
      if (output.valid()) memory[views.base[output.index].index].writer = id;
    }
    if (rows.calls[c].runs == rows::CallRows::Runs::kDrawn) after(std::exchange(drawn, id));
    std::ranges::sort(before[c]);
    const auto twice = std::ranges::unique(before[c]);
    before[c].erase(twice.begin(), twice.end());
  }
  return before;
}

}  // namespace dynaflow::cut

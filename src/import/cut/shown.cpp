#include "import/cut/shown.h"

#include <optional>

namespace dynaflow::cut {
namespace {

using capture::Call;
using capture::CallId;
using capture::Capture;
using capture::Tensor;
using capture::TensorId;

/// Whether it has nothing before it in its storage either.
bool is_contiguous(const Tensor& tensor) { return is_dense(tensor) && tensor.offset == Extent(0); }

/// Whether two calls came from one call of the user's.
bool are_one(const Call& a, const Call& b) {
  return a.modules == b.modules && a.user_calls == b.user_calls && a.line == b.line;
}

class Shown {
 public:
  Shown(const Capture& capture, const Views& views)
      : capture_(capture), views_(views), seen_(capture.tensors.size()) {
    for (const Call& call : capture.calls) {
      if (!is_view(call)) for_each_input(call, [&](TensorId tensor) { see(tensor, &call); });
    }
    for (const capture::Output& output : capture.outputs) {
      if (output.tensor.valid()) see(output.tensor, nullptr);
    }
  }

  [[nodiscard]] TensorId of(TensorId tensor) const { return seen_[tensor.index].value_or(tensor); }

 private:
  /// All users must see the same.
  void see(TensorId tensor, const Call* user) {
    const TensorId base = views_.base[tensor.index];
    const CallId maker = views_.producer[base.index];
    if (!maker.valid() || (user != nullptr && are_one(*user, capture_.call(maker)))) return;
    const TensorId shown = first_view(tensor, base, capture_.call(maker));
    auto& before = seen_[base.index];
    const bool agree = !before || capture_.tensor(*before).sizes == capture_.tensor(shown).sizes;
    before = agree ? before.value_or(shown) : base;
  }

  [[nodiscard]] TensorId first_view(TensorId tensor, TensorId base, const Call& maker) const {
    const auto chain = views_.chain(capture_, tensor);
    if (chain.empty()) return base;
    const Call& view = capture_.call(chain.front().call);
    const TensorId seen = view.outputs[chain.front().output];
    const Tensor& a = capture_.tensor(base);
    const Tensor& b = capture_.tensor(seen);
    const bool same = is_contiguous(a) && is_contiguous(b) && elements(a) == elements(b);
    return same && are_one(view, maker) ? seen : base;
  }

  const Capture& capture_;
  const Views& views_;
  std::vector<std::optional<TensorId>> seen_;  ///< per base
};

}  // namespace

std::vector<TensorId> find_shown(const Capture& capture, const Views& views) {
  const Shown shown(capture, views);
  std::vector<TensorId> tensors;
  tensors.reserve(capture.tensors.size());
  for (std::uint32_t t = 0; t < capture.tensors.size(); ++t) tensors.push_back(shown.of({t}));
  return tensors;
}

}  // namespace dynaflow::cut

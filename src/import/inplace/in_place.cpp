#include "import/inplace/in_place.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "import/cut/views.h"

namespace dynaflow::inplace {
namespace {

using capture::Argument;
using capture::Call;
using capture::Capture;
using capture::TensorId;

/// Operators with a form that writes to their first argument, and takes the same arguments.
constexpr std::array<std::string_view, 12> kHasInPlaceForm{
    "aten::index_copy", "aten::index_put",   "aten::index_add", "aten::index_fill",
    "aten::scatter",    "aten::scatter_add", "aten::add",       "aten::sub",
    "aten::mul",        "aten::masked_fill", "aten::copy",      "aten::masked_scatter",
};

bool has_in_place_form(const Call& call) {
  return call.writes.empty() && call.outputs.size() == 1 &&
         std::ranges::find(kHasInPlaceForm, call.op) != kHasInPlaceForm.end();
}

/// The tensors as the trace means them: an updated tensor is a new one.
Capture without_updates(Capture capture) {
  for (Call& call : capture.calls) call.updates.clear();
  return capture;
}

class Rewriter {
 public:
  explicit Rewriter(rows::Rows& rows)
      : rows_(rows),
        capture_(rows.capture),
        views_(without_updates(capture_)),
        gone_(capture_.calls.size()) {}

  Undone rewrite() {
    find_uses();
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) undo_copy_back(c);
    clone_where_needed();
    drop_gone();
    return undone_;
  }

 private:
  [[nodiscard]] TensorId base(TensorId tensor) const { return views_.base[tensor.index]; }

  void find_uses() {
    uses_.assign(capture_.tensors.size(), {});
    returned_.assign(capture_.tensors.size(), 0);
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) {
      if (cut::is_view(capture_.calls[c])) continue;
      for_each_input(capture_.calls[c], [&](TensorId t) { uses_[base(t).index].push_back(c); });
    }
    for (const capture::Output& output : capture_.outputs) {
      if (output.tensor.valid()) returned_[base(output.tensor).index] = 1;
    }
  }

  [[nodiscard]] bool is_input(TensorId tensor) const {
    return !views_.producer[tensor.index].valid();
  }

  /// Nobody reads the memory of `tensor` after call `c`, but for call `except`.
  [[nodiscard]] bool unread_after(TensorId tensor, std::size_t c, std::size_t except) const {
    return std::ranges::none_of(uses_[tensor.index],
                                [&](std::size_t use) { return use > c && use != except; });
  }

  /// copy_(x, v) with v = f(… f(x, …) …): each f can write to x itself, if nobody reads the x of
  /// before it later, and then the copy is nothing.
  void undo_copy_back(std::size_t at) {
    const Call& copy = capture_.calls[at];
    if (copy.op != "aten::copy_") return;
    const auto target = copy.arguments[0].tensor();
    const auto source = copy.arguments[1].tensor();
    if (!target || !source || !is_input(*target) || base(*source) != *source) return;
    std::vector<std::size_t> chain;
    TensorId version = *source;
    while (version != *target) {
      if (is_input(version) || returned_[version.index] != 0) return;
      const std::size_t made = views_.producer[version.index].index;
      const Call& call = capture_.calls[made];
      const auto previous = previous_version(call, version);
      if (!previous.valid() || !unread_after(previous, made, at)) return;
      chain.push_back(made);
      version = previous;
    }
    for (const std::size_t made : chain) write_in_place(made);
    gone_[at] = 1;
    ++undone_.copies_back;
  }

  /// What a call made `version` from, if it could as well have written to it.
  [[nodiscard]] TensorId previous_version(const Call& call, TensorId version) const {
    for (const Call::Update& update : call.updates) {
      if (call.outputs[update.output] == version) return update.tensor;
    }
    if (!has_in_place_form(call)) return {};
    const auto first = call.arguments[0].tensor();
    return first && base(*first) == *first && same_shape(*first, version) ? *first : TensorId{};
  }

  [[nodiscard]] bool same_shape(TensorId a, TensorId b) const {
    return capture_.tensor(a).sizes == capture_.tensor(b).sizes &&
           capture_.tensor(a).dtype == capture_.tensor(b).dtype;
  }

  void write_in_place(std::size_t c) {
    Call& call = capture_.calls[c];
    ++undone_.updates;
    if (!call.updates.empty()) return;  // it writes already
    call.op += "_";
    call.writes = {0};
    call.aliases = {{0, 0}};
  }

  /// A call that writes to a tensor whose old content somebody still wants writes to a clone.
  void clone_where_needed() {
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) {
      for (std::size_t u = 0; u < capture_.calls[c].updates.size(); ++u) {
        const TensorId old = capture_.calls[c].updates[u].tensor;
        const bool ends_in_place = ends_in(capture_.calls[c], u);
        if (!ends_in_place && (is_input(old) || !unread_after(old, c, c))) add_clone(c, u);
      }
    }
  }

  /// Whether this update's copy back was undone: then the tensor itself is meant to change.
  [[nodiscard]] bool ends_in(const Call& call, std::size_t update) const {
    const TensorId made = call.outputs[call.updates[update].output];
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) {
      if (gone_[c] == 0) continue;
      TensorId version = *capture_.calls[c].arguments[1].tensor();
      while (!is_input(version)) {
        if (version == made) return true;
        version = previous_version_written(version);
        if (!version.valid()) break;
      }
    }
    return false;
  }

  [[nodiscard]] TensorId previous_version_written(TensorId version) const {
    const Call& call = capture_.calls[views_.producer[version.index].index];
    for (const Call::Update& update : call.updates) {
      if (call.outputs[update.output] == version) return update.tensor;
    }
    return call.writes.empty() ? TensorId{} : call.arguments[0].tensor().value_or(TensorId{});
  }

  void add_clone(std::size_t c, std::size_t u) {
    const TensorId old = capture_.calls[c].updates[u].tensor;
    const auto fresh = id_at<TensorId>(capture_.tensors.size());
    capture::Tensor tensor = capture_.tensor(old);
    tensor.name += "_copy";
    capture_.tensors.push_back(std::move(tensor));
    rows_.tensors.push_back(rows::Carry(rows_.tensors[old.index]));
    Clone clone{c, c, old, fresh};
    for_each_input(capture_.calls[c], [&](TensorId seen) {
      if (base(seen) != old) return;
      for (const auto& link : views_.chain(capture_, seen)) {
        clone.before = std::min<std::size_t>(clone.before, link.call.index);
      }
    });
    clones_.push_back(clone);
    ++undone_.clones;
  }

  void drop_gone() {
    std::vector<Call> calls;
    std::vector<rows::CallRows> runs;
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) {
      for (const Clone& clone : clones_) {
        if (clone.before != c) continue;
        calls.push_back(clone_call(clone));
        runs.push_back(rows_.calls[clone.writer]);
        use_clone(clone);
      }
      if (gone_[c] != 0) continue;
      calls.push_back(std::move(capture_.calls[c]));
      runs.push_back(std::move(rows_.calls[c]));
    }
    capture_.calls = std::move(calls);
    rows_.calls = std::move(runs);
  }

  struct Clone {
    std::size_t before = 0;  ///< the call that first looks at it
    std::size_t writer = 0;  ///< the call that writes to it
    TensorId old;
    TensorId fresh;
  };

  [[nodiscard]] Call clone_call(const Clone& clone) const {
    Call call;
    call.op = "aten::clone";
    call.arguments = {Argument{clone.old}, Argument{Argument::None{}}};
    call.outputs = {clone.fresh};
    call.modules = capture_.calls[clone.before].modules;
    return call;
  }

  /// The writer, and the views through which it writes, see the clone.
  void use_clone(const Clone& clone) {
    Call& writer = capture_.calls[clone.writer];
    for_each_input(writer, [&](TensorId seen) {
      if (base(seen) != clone.old) return;
      for (const auto& link : views_.chain(capture_, seen)) {
        replace(capture_.calls[link.call.index], clone.old, clone.fresh);
      }
    });
    replace(writer, clone.old, clone.fresh);
  }

  static void replace(Call& call, TensorId old, TensorId fresh) {
    for (Argument& argument : call.arguments) replace(argument, old, fresh);
    for (Call::Update& update : call.updates) {
      if (update.tensor == old) update.tensor = fresh;
    }
  }

  static void replace(Argument& argument, TensorId old, TensorId fresh) {
    if (auto* tensor = std::get_if<TensorId>(&argument.value);
        tensor != nullptr && *tensor == old) {
      *tensor = fresh;
    }
    if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      for (Argument& item : *list) replace(item, old, fresh);
    }
  }

  rows::Rows& rows_;
  Capture& capture_;
  cut::Views views_;
  std::vector<char> gone_;
  std::vector<std::vector<std::size_t>> uses_;  ///< per base: calls, in order
  std::vector<char> returned_;                  ///< per base
  std::vector<Clone> clones_;
  Undone undone_;
};

}  // namespace

Undone update_in_place(rows::Rows& rows) { return Rewriter(rows).rewrite(); }

}  // namespace dynaflow::inplace

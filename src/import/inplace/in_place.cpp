#include "import/inplace/in_place.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
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

/// Collectives whose result can take the place of their argument.
bool has_in_place_collective(const Call& call) {
  return call.op == "_c10d_functional::all_reduce" || call.op == "_c10d_functional::broadcast";
}

bool same_layout(const Capture& capture, TensorId a, TensorId b) {
  const capture::Tensor& first = capture.tensor(a);
  const capture::Tensor& second = capture.tensor(b);
  return first.dtype == second.dtype && first.sizes == second.sizes &&
         first.strides == second.strides;
}

/// copy(x, v) is v, seen under another name: the trace writes it where the model wrote to x.
void forward_copies(rows::Rows& rows) {
  for (Call& call : rows.capture.calls) {
    if (call.op != "aten::copy") continue;
    const auto target = call.arguments[0].tensor();
    const auto source = call.arguments[1].tensor();
    if (!target || !source || !same_layout(rows.capture, *target, *source)) continue;
    if (rows.tensors[source->index] != rows.tensors[call.outputs.front().index]) continue;
    call.op = "aten::alias";
    call.arguments = {Argument{*source}};
    call.aliases = {{0, 0}};
  }
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
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) reduce_in_place(c);
    clone_where_needed();
    drop_gone();
    forget_versions();
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
    return !views_.producer[base(tensor).index].valid();
  }

  /// Nobody reads the memory of `tensor` after call `c`, but for call `except`; nor does `c`
  /// itself, but where it writes.
  [[nodiscard]] bool unread_after(TensorId tensor, std::size_t c, std::size_t except) const {
    return std::ranges::none_of(uses_[base(tensor).index],
                                [&](std::size_t use) { return use > c && use != except; }) &&
           !reads_besides(capture_.calls[c], tensor);
  }

  /// Whether a call reads the memory of `tensor` through an argument that it does not write to;
  /// of a call without any, through another than its first.
  [[nodiscard]] bool reads_besides(const Call& call, TensorId tensor) const {
    bool reads = false;
    for (std::uint32_t i = 0; i < call.arguments.size(); ++i) {
      if (call.writes.empty() ? i == 0 : call.writes_argument(i)) continue;
      capture::for_each_tensor(call.arguments[i],
                               [&](TensorId seen) { reads |= base(seen) == base(tensor); });
    }
    return reads;
  }

  /// copy_(x, v) with v = f(… f(x, …) …): each f can write to x itself, if nobody reads the x of
  /// before it later, and then the copy is nothing.
  void undo_copy_back(std::size_t at) {
    const Call& copy = capture_.calls[at];
    if (copy.op != "aten::copy_") return;
    const auto target = copy.arguments[0].tensor();
    const auto source = copy.arguments[1].tensor();
    if (!target || !source || *source == *target) return;
    if (!is_input(*target) || base(*source) != *source) return;
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
    for (capture::Output& output : capture_.outputs) {
      if (output.tensor.valid() && output.tensor == copy.outputs.front()) output.tensor = *source;
    }
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
    ++undone_.updates;
    if (capture_.calls[c].updates.empty()) write_to_first(capture_.calls[c]);
  }

  static void write_to_first(Call& call) {
    call.op += '_';
    call.writes = {0};
    call.aliases = {{0, 0}};
  }

  /// A collective's argument that nobody reads again has room for the result.
  void reduce_in_place(std::size_t c) {
    Call& call = capture_.calls[c];
    if (!has_in_place_collective(call)) return;
    const TensorId argument = *call.arguments[0].tensor();
    if (is_input(argument) || returned_[base(argument).index] != 0) return;
    if (!is_all_of(argument, base(argument)) || !unread_after(argument, c, c)) return;
    write_to_first(call);
    ++undone_.collectives;
  }

  /// Whether `view` shows every element of `whole` once, in order.
  [[nodiscard]] bool is_all_of(TensorId view, TensorId whole) const {
    const capture::Tensor& part = capture_.tensor(view);
    const capture::Tensor& all = capture_.tensor(whole);
    return is_dense(part) && is_dense(all) && elements(part) == elements(all);
  }

  /// A call that writes to a tensor whose old content somebody still wants writes to a clone.
  void clone_where_needed() {
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) {
      for (std::size_t u = 0; u < capture_.calls[c].updates.size(); ++u) {
        const TensorId old = capture_.calls[c].updates[u].tensor;
        const bool wanted =
            is_input(old) || returned_[base(old).index] != 0 || !unread_after(old, c, c);
        if (wanted && !ends_in(capture_.calls[c], u)) add_clone(c, u);
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

  /// A copy of `tensor`'s type under another name; carries the batch as it does.
  TensorId add_like(TensorId tensor) {
    capture::Tensor fresh = capture_.tensor(tensor);
    fresh.name += "_copy" + std::to_string(undone_.clones);
    capture_.tensors.push_back(std::move(fresh));
    const rows::Carry carry = rows_.tensors[tensor.index];
    rows_.tensors.push_back(carry);
    return id_at<TensorId>(capture_.tensors.size() - 1);
  }

  /// The writer writes to a clone, through views of its own: others may look through the old ones.
  void add_clone(std::size_t c, std::size_t u) {
    const TensorId old = capture_.calls[c].updates[u].tensor;
    ++undone_.clones;
    const TensorId fresh = add_like(old);
    before_[c].push_back({clone_call(c, old, fresh), rows_.calls[c]});
    Call& writer = capture_.calls[c];
    for (const std::uint32_t written : writer.writes) {
      see_clone(writer.arguments[written], c, old, fresh);
    }
    writer.updates[u].tensor = fresh;
  }

  void see_clone(Argument& argument, std::size_t c, TensorId old, TensorId fresh) {
    if (auto* seen = std::get_if<TensorId>(&argument.value)) {
      if (const auto found = seen_through(c, *seen, old, fresh)) *seen = *found;
    }
    if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      for (Argument& item : *list) see_clone(item, c, old, fresh);
    }
  }

  /// What `seen`, a view of `old` or itself, is of `fresh`; none if it is of something else.
  std::optional<TensorId> seen_through(std::size_t c, TensorId seen, TensorId old, TensorId fresh) {
    if (seen == old) return fresh;
    if (seen.index >= views_.base.size() || base(seen) == seen) return std::nullopt;
    const cut::Views::Link link = views_.chain(capture_, seen).back();
    Call view = capture_.call(link.call);
    const auto of = seen_through(c, *view.arguments[0].tensor(), old, fresh);
    if (!of) return std::nullopt;
    view.arguments[0].value = *of;
    for (TensorId& output : view.outputs) output = output.valid() ? add_like(output) : output;
    const TensorId found = view.outputs[link.output];
    before_[c].push_back({std::move(view), rows_.calls[link.call.index]});
    return found;
  }

  [[nodiscard]] Call clone_call(std::size_t writer, TensorId old, TensorId fresh) const {
    Call call;
    call.op = "aten::clone";
    call.arguments = {Argument{old}, Argument{Argument::None{}}};
    call.outputs = {fresh};
    call.modules = capture_.calls[writer].modules;
    return call;
  }

  void drop_gone() {
    std::vector<Call> calls;
    std::vector<rows::CallRows> runs;
    const auto keep = [&](Call& call, rows::CallRows& how) {
      calls.push_back(std::move(call));
      runs.push_back(std::move(how));
    };
    for (std::size_t c = 0; c < capture_.calls.size(); ++c) {
      for (Added& added : before_[c]) keep(added.call, added.runs);
      if (gone_[c] == 0) keep(capture_.calls[c], rows_.calls[c]);
    }
    capture_.calls = std::move(calls);
    rows_.calls = std::move(runs);
  }

  /// What a call wrote to is the same tensor afterwards: whoever reads it later reads that.
  void forget_versions() {
    std::vector<TensorId> now(capture_.tensors.size());
    for (std::uint32_t t = 0; t < now.size(); ++t) now[t] = {t};
    for (Call& call : capture_.calls) {
      for (Argument& argument : call.arguments) rename(argument, now);
      if (call.writes.empty()) continue;
      for (const Call::Alias& alias : call.aliases) {
        const auto written = call.arguments[alias.argument].tensor();
        if (written && call.outputs[alias.output].valid()) {
          now[call.outputs[alias.output].index] = *written;
        }
      }
      for (Call::Update& update : call.updates) {
        update.tensor = now[update.tensor.index];
        now[call.outputs[update.output].index] = update.tensor;
      }
    }
    for (capture::Output& output : capture_.outputs) {
      if (output.tensor.valid()) output.tensor = now[output.tensor.index];
    }
  }

  static void rename(Argument& argument, const std::vector<TensorId>& now) {
    if (auto* tensor = std::get_if<TensorId>(&argument.value)) *tensor = now[tensor->index];
    if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      for (Argument& item : *list) rename(item, now);
    }
  }

  struct Added {
    Call call;
    rows::CallRows runs;
  };

  rows::Rows& rows_;
  Capture& capture_;
  cut::Views views_;
  std::vector<char> gone_;
  std::vector<std::vector<std::size_t>> uses_;  ///< per base: calls, in order
  std::vector<char> returned_;                  ///< per base
  std::vector<std::vector<Added>> before_ =
      std::vector<std::vector<Added>>(capture_.calls.size());  ///< per call: what it now needs
  Undone undone_;
};

}  // namespace

Undone update_in_place(rows::Rows& rows) {
  forward_copies(rows);
  return Rewriter(rows).rewrite();
}

}  // namespace dynaflow::inplace

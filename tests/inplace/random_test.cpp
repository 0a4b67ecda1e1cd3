#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "import/inplace/in_place.h"
#include "support/sketch.h"

// Random models that update what they are given, executed literally before and after the rewriting:
// all that is given back, and all inputs afterwards, must be equal.
namespace dynaflow::inplace {
namespace {

using capture::Call;
using capture::Capture;
using capture::TensorId;
using rows::Sketch;

constexpr std::int64_t kLength = 8;

enum class Meaning : std::uint8_t {
  kFunctional,  ///< an updated tensor is a new one, as tracing means it
  kInPlace,     ///< it is the old one, written to
};

/// Runs a Capture over one-dimensional tensors of wrapping integers.
class Machine {
 public:
  Machine(const Capture& capture, Meaning meaning) : capture_(capture), meaning_(meaning) {
    seen_.resize(capture.tensors.size());
    for (const capture::Input& input : capture.inputs) {
      Memory content(static_cast<std::size_t>(kLength));
      for (std::size_t i = 0; i < content.size(); ++i) content[i] = input.tensor.index * 100 + i;
      seen_[input.tensor.index] = own(std::move(content));
    }
    for (const Call& call : capture.calls) run(call);
  }

  /// What the caller sees in the end.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> results() const {
    std::vector<Memory> results;
    for (const capture::Output& output : capture_.outputs) results.push_back(read(output.tensor));
    for (const capture::Input& input : capture_.inputs) results.push_back(read(input.tensor));
    return results;
  }

  /// Calls that write where they also read something else: operators refuse it.
  [[nodiscard]] int overlaps() const { return overlaps_; }

 private:
  using Memory = std::vector<std::uint64_t>;
  struct Part {
    std::size_t memory = 0;
    std::size_t begin = 0;
    std::size_t length = 0;

    friend bool operator==(const Part&, const Part&) = default;
  };

  Part own(Memory content) {
    memories_.push_back(std::move(content));
    return {memories_.size() - 1, 0, memories_.back().size()};
  }
  [[nodiscard]] Memory read(TensorId tensor) const {
    const Part part = seen_[tensor.index];
    const auto begin = memories_[part.memory].begin() + static_cast<std::ptrdiff_t>(part.begin);
    return {begin, begin + static_cast<std::ptrdiff_t>(part.length)};
  }
  void write(Part part, const Memory& content) {
    std::ranges::copy(content,
                      memories_[part.memory].begin() + static_cast<std::ptrdiff_t>(part.begin));
  }

  void run(const Call& call) {
    const TensorId first = *call.arguments[0].tensor();
    const Part to = seen_[first.index];
    if (call.op == "aten::slice") {
      const auto begin = static_cast<std::size_t>(*call.arguments[2].integer());
      const auto end = static_cast<std::size_t>(*call.arguments[3].integer());
      seen_[call.outputs[0].index] = {to.memory, to.begin + begin, end - begin};
      return;
    }
    const Memory made = result(call);
    if (call.writes.empty()) {
      seen_[call.outputs[0].index] = own(made);
    } else if (call.updates.empty()) {
      note_overlap(call, to);
      write(to, made);
      seen_[call.outputs[0].index] = to;
    } else {
      update(call, to, made);
    }
  }

  [[nodiscard]] Memory result(const Call& call) const {
    const Memory a = read(*call.arguments[0].tensor());
    const auto other = call.arguments[1].tensor();
    if (call.op == "aten::clone") return a;
    const Memory b = read(*other);
    if (call.op == "aten::copy_") return b;
    Memory made(a.size());
    const std::uint64_t factor = call.op == "my::mix" ? 5 : 3;
    for (std::size_t i = 0; i < a.size(); ++i) made[i] = a[i] * factor + b[i % b.size()];
    return made;
  }

  void update(const Call& call, Part to, const Memory& made) {
    const TensorId old = call.updates[0].tensor;
    Part updated = seen_[old.index];
    if (meaning_ == Meaning::kFunctional) {
      const std::size_t offset = to.begin - updated.begin;
      updated = own(read(old));
      to = {updated.memory, offset, to.length};
    } else {
      note_overlap(call, to);
    }
    write(to, made);
    seen_[call.outputs[0].index] = updated;
  }

  void note_overlap(const Call& call, const Part& to) {
    const auto other = call.arguments[1].tensor();
    if (!other) return;
    const Part& from = seen_[other->index];
    const bool meet = from.memory == to.memory && from.begin < to.begin + to.length &&
                      to.begin < from.begin + from.length;
    overlaps_ += meet && from != to ? 1 : 0;
  }

  const Capture& capture_;
  Meaning meaning_;
  std::vector<Memory> memories_;
  std::vector<Part> seen_;
  int overlaps_ = 0;
};

/// A model as tracing leaves it: functional calls, then copies back to the inputs.
class RandomModel : public Sketch {
 public:
  explicit RandomModel(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) inputs_.push_back(input({kLength}, DType::kI64));
    tensors_ = inputs_;
    const int count = 3 + below(8);
    for (int i = 0; i < count; ++i) add_call();
    for (const TensorId to : inputs_) {
      if (below(3) > 0) write("aten::copy_", {to, last_version(to)});
    }
    for (int i = 0; i < 2; ++i) {
      if (below(2) == 0) give_back(tensors_[pick(tensors_)]);
    }
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  std::size_t pick(const std::vector<TensorId>& from) { return random_() % from.size(); }
  [[nodiscard]] std::int64_t length(TensorId id) { return tensor(id).sizes[0].constant(); }

  /// Mostly a chain: the next update is of what was made last.
  TensorId target() { return below(3) == 0 ? tensors_[pick(tensors_)] : tensors_.back(); }
  TensorId operand(TensorId to) {
    const TensorId other = tensors_[pick(tensors_)];
    return length(to) % length(other) == 0 ? other : to;
  }

  void add_call() {
    const TensorId to = target();
    switch (below(4)) {
      case 0:
        add_mutating(to);
        break;
      case 1:
        if (length(to) == kLength) {
          const int begin = below(2) * 4;
          tensors_.push_back(view("aten::slice.Tensor", {to, 0, begin, begin + 4, 1}, {4}));
          break;
        }
        [[fallthrough]];
      default:
        tensors_.push_back(
            call("aten::add.Tensor", {to, operand(to), 1}, tensor(to).sizes, DType::kI64));
    }
  }

  void add_mutating(TensorId updated) {
    TensorId seen = updated;
    if (length(updated) == kLength && below(2) == 0) {
      seen = view("aten::slice.Tensor", {updated, 0, 4, 8, 1}, {4});
    }
    const TensorId other = operand(seen);
    const TensorId made = call("my::mix", {seen, other}, tensor(updated).sizes, DType::kI64);
    last().writes = {0};
    last().updates = {{.tensor = updated, .output = 0}};
    tensors_.push_back(made);
    if (below(2) == 0) tensors_.push_back(seen);
  }

  /// Something of the input's length to copy back; the last made, if it can be.
  TensorId last_version(TensorId to) {
    if (below(3) == 0) return inputs_[pick(inputs_)] == to ? inputs_[0] : inputs_[pick(inputs_)];
    const auto full = std::ranges::find_if(tensors_.rbegin(), tensors_.rend(),
                                           [&](TensorId made) { return length(made) == kLength; });
    return *full;
  }

  std::mt19937_64 random_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> tensors_;
};

TEST(RandomModels, GiveTheSameResultsInPlace) {
  std::uint32_t undone = 0;
  std::uint32_t clones = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const RandomModel model(seed);
    rows::Rows rows = model.rows();
    const Undone done = update_in_place(rows);
    undone += done.copies_back;
    clones += done.clones;
    const Machine before(model.capture(), Meaning::kFunctional);
    const Machine after(rows.capture, Meaning::kInPlace);
    ASSERT_EQ(after.results(), before.results())
        << "seed " << seed << '\n'
        << to_string(model.capture()) << to_string(rows.capture);
    ASSERT_LE(after.overlaps(), before.overlaps()) << "seed " << seed;
  }
  EXPECT_GT(undone, 1000U);
  EXPECT_GT(clones, 1000U);
}

}  // namespace
}  // namespace dynaflow::inplace

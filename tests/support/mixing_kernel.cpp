#include "support/mixing_kernel.h"

#include <algorithm>

namespace dynaflow::testing {
namespace {

using Word = std::uint64_t;

/// An unplaced value: for each row of its micro-batches a count, then the rows' words in turn.
/// Tolerates garbage, which an illegal order may leave there.
Word digest_of_ragged_row(const View& view, std::int64_t row, std::int64_t rows) {
  if (view.data == nullptr || view.elements < rows) return 0;
  const auto words = view.row<Word>(0);
  auto at = static_cast<std::size_t>(rows);
  Word digest = 1;
  for (std::int64_t r = 0; r <= row; ++r) {
    const auto count = std::min<Word>(words[static_cast<std::size_t>(r)], words.size() - at);
    for (Word i = 0; r == row && i < count; ++i) digest = mix(digest, words[at + i]);
    at += count;
  }
  return digest;
}

Word digest_of_row(const View& view, std::int64_t row) {
  Word digest = 2;
  for (std::int64_t block = 0; block < view.blocks; ++block) {
    for (const Word word : view.row<Word>(row, block)) digest = mix(digest, word);
  }
  return digest;
}

class Mixer {
 public:
  Mixer(const MixingOp& op, const KernelArgs& args) : op_(op), args_(args) {}

  void run() {
    const std::int64_t rows = args_.rows.count;
    std::vector<Word> digests(static_cast<std::size_t>(op_.once ? 1 : rows));
    if (op_.once) {
      digests[0] = mix(op_.op, 3);
      for (std::int64_t r = 0; r < rows; ++r) digests[0] = mix(digests[0], read_row(r));
      digests[0] = mix(digests[0], read_shared());
    } else {
      for (std::int64_t r = 0; r < rows; ++r) {
        digests[static_cast<std::size_t>(r)] = mix(read_row(r), read_shared());
      }
    }
    for (std::size_t d = 0; d < digests.size(); ++d) {
      op_.world->world->trace[op_.op][d + (op_.once ? 0 : first())] = digests[d];
    }
    for (std::size_t i = 0; i < op_.out.size(); ++i) write(i, digests);
    write_states(digests);
  }

 private:
  [[nodiscard]] std::size_t first() const { return static_cast<std::size_t>(args_.rows.first); }

  [[nodiscard]] Word read_row(std::int64_t row) const {
    Word digest = mix(op_.op, first() + static_cast<Word>(row));  // no two rows are alike
    for (std::size_t i = 0; i < op_.in.size(); ++i) {
      if (op_.in_unplaced[i] != 0 && op_.in[i].kind == Kind::kSplit) {
        digest = mix(digest, digest_of_ragged_row(args_.in(i), row, args_.rows.count));
      } else if (op_.in[i].has_rows()) {
        digest = mix(digest, digest_of_row(args_.in(i), row));
      }
    }
    for (std::size_t i = 0; i < op_.updates; ++i) {
      if (op_.out[i].has_rows()) digest = mix(digest, digest_of_row(args_.out(i), row));
    }
    for (const Effect& effect : op_.effects) {
      if (effect.rows == Rows::kOwn && effect.access != Access::kWrite) {
        digest = mix(digest, state(effect)[first() + static_cast<std::size_t>(row)]);
      }
    }
    return digest;
  }

  [[nodiscard]] Word read_shared() const {
    Word digest = 5;
    for (std::size_t i = 0; i < op_.in.size(); ++i) {
      if (!op_.in[i].has_rows()) digest = mix(digest, digest_of_row(args_.in(i), 0));
    }
    for (std::size_t i = 0; i < op_.updates; ++i) {
      if (!op_.out[i].has_rows()) digest = mix(digest, digest_of_row(args_.out(i), 0));
    }
    for (const Effect& effect : op_.effects) {
      if (effect.rows == Rows::kOwn || effect.access == Access::kWrite) continue;
      for (const Word word : state(effect)) digest = mix(digest, word);
    }
    return digest;
  }

  void write(std::size_t i, const std::vector<Word>& digests) const {
    if (op_.out_unplaced[i] != 0) return write_ragged(i, digests);
    const View& out = args_.out(i);
    if (op_.out[i].kind == Kind::kPartial && i >= op_.updates) return add(out, i, digests);
    const std::int64_t rows = op_.out[i].has_rows() ? args_.rows.count : 1;
    for (std::int64_t r = 0; r < rows; ++r) {
      const Word digest = digests[op_.once ? 0 : static_cast<std::size_t>(r)];
      Word element = mix(digest, i);
      for (std::int64_t block = 0; block < out.blocks; ++block) {
        for (Word& word : out.row<Word>(r, block)) {
          word = element = mix(element, static_cast<Word>(op_.once ? r : 0));
        }
      }
    }
  }

  static void add(const View& out, std::size_t i, const std::vector<Word>& digests) {
    Word element = 7;
    for (Word& word : out.row<Word>(0)) {
      element = mix(element, i);
      Word sum = out.sum == PartialSum::kAdd ? word : 0;
      for (const Word digest : digests) sum += mix(digest, element);
      word = sum;
    }
  }

  void write_ragged(std::size_t i, const std::vector<Word>& digests) const {
    const auto digest = [&](std::int64_t r) { return digests[op_.once ? 0 : std::size_t(r)]; };
    const std::int64_t rows = args_.rows.count;
    std::vector<Word> words;
    for (std::int64_t r = 0; r < rows; ++r)
      words.push_back(1 + (digest(r) + Word(op_.once ? r : 0)) % 3);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (Word k = 0; k < words[static_cast<std::size_t>(r)]; ++k) {
        words.push_back(mix(digest(r), mix(k, Word(op_.once ? r : 0))));
      }
    }
    const View& out = args_.allocate(i, static_cast<std::int64_t>(words.size()));
    std::copy(words.begin(), words.end(), out.row<Word>(0).begin());
  }

  void write_states(const std::vector<Word>& digests) const {
    for (const Effect& effect : op_.effects) {
      if (effect.access == Access::kRead) continue;
      auto& words = state(effect);
      if (effect.rows == Rows::kAll) {
        for (std::size_t r = 0; r < words.size(); ++r) words[r] = mix(digests[0], r);
      } else {
        for (std::int64_t r = 0; r < args_.rows.count; ++r) {
          words[first() + static_cast<std::size_t>(r)] =
              mix(digests[op_.once ? 0 : static_cast<std::size_t>(r)], 11);
        }
      }
    }
  }

  [[nodiscard]] std::vector<Word>& state(const Effect& effect) const {
    return op_.world->world->states[effect.state.index];
  }

  const MixingOp& op_;
  const KernelArgs& args_;
};

/// Holds its kernel to what a body is promised: the views it was bound to, and scratch that is its
/// own from begin to end.
class BoundMixing final : public BoundBody {
 public:
  BoundMixing(const Kernel& kernel, const BindArgs& args, std::int64_t scratch)
      : kernel_(kernel), views_(args.views.begin(), args.views.end()), scratch_(scratch) {}

  void run(const KernelArgs& args) override {
    require(std::ssize(args.scratch) == scratch_, "not the scratch that was asked for");
    require(views_.size() == args.views.size(), "not the views it was bound to");
    for (std::size_t i = 0; i < views_.size(); ++i) {
      View view = args.views[i];
      view.data = nullptr;
      const bool unplaced = views_[i].rows == 0 && views_[i].elements == 0;
      require(unplaced || view == views_[i], "not a view it was bound to");
    }
    const auto mark = static_cast<std::byte>(++calls_);
    std::ranges::fill(args.scratch, mark);
    kernel_(args);
    require(std::ranges::count(args.scratch, mark) == scratch_, "somebody wrote to its scratch");
    if (args.counts != nullptr) args.counts->copied_bytes += scratch_;
  }

 private:
  static void require(bool holds, const char* what) {
    if (!holds) throw std::logic_error(what);
  }

  const Kernel& kernel_;
  std::vector<View> views_;
  std::int64_t scratch_;
  std::uint32_t calls_ = 0;
};

class Mixing final : public Body {
 public:
  explicit Mixing(MixingOp op) : kernel_(mixing_kernel(std::move(op))) {}

  [[nodiscard]] std::int64_t scratch_bytes(const BindArgs& args) const override {
    std::int64_t words = args.rows.count * 5 + std::ssize(args.views);
    for (const std::int64_t symbol : args.symbols) words += symbol;
    return words % 4 == 0 ? 0 : words * 3;
  }
  [[nodiscard]] std::shared_ptr<BoundBody> bind(const BindArgs& args) const override {
    return std::make_shared<BoundMixing>(kernel_, args, scratch_bytes(args));
  }

 private:
  Kernel kernel_;
};

}  // namespace

std::shared_ptr<const Body> mixing_body(MixingOp op) {
  return std::make_shared<Mixing>(std::move(op));
}

void run_op(const Op& op, KernelArgs args) {
  if (op.kernel) return op.kernel(args);
  std::vector<View> views(args.views.begin(), args.views.end());
  for (View& view : views) view.data = nullptr;
  const BindArgs sizes{views, args.reads, args.rows, args.symbols};
  std::vector<std::byte> scratch(static_cast<std::size_t>(op.body->scratch_bytes(sizes)));
  if (args.scratch.empty()) args.scratch = scratch;
  op.body->bind(sizes)->run(args);
}

Kernel mixing_kernel(MixingOp op) {
  return [op = std::move(op)](const KernelArgs& args) {
    if (op.world->before) op.world->before(op.op, args.rows);
    Mixer(op, args).run();
  };
}

}  // namespace dynaflow::testing

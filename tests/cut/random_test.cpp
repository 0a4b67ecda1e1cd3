#include <gtest/gtest.h>

#include <random>

#include "cut/check.h"
#include "import/inplace/in_place.h"
#include "support/findings.h"
#include "support/sketch.h"

// Random models under random rules: whatever is merged, written, drawn, local or annotated, the cut
// is sound and a Graph comes of it.
namespace dynaflow::cut {
namespace {

using capture::TensorId;
using rows::Sketch;

constexpr DType kI64 = DType::kI64;

class RandomModel : public Sketch {
 public:
  explicit RandomModel(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 2; ++i) split_.push_back(input({B, 8}));
    for (int i = 0; i < 2; ++i) whole_.push_back(weight({8}));
    const int count = 5 + below(30);
    for (int i = 0; i < count; ++i) add_call();
    for (int i = 0; i < 2; ++i) give_back(split_[split_.size() - 1 - random_() % 2]);
    give_back(pick(split_));
  }

  [[nodiscard]] std::vector<Rule> rules() {
    std::vector<Rule> rules;
    const int count = below(4);
    for (int i = 0; i < count; ++i) {
      switch (below(5)) {
        case 0:
          rules.push_back({Rule::Selects::kModule, {"Block"}});
          break;
        case 1:
          rules.push_back({Rule::Selects::kModule, {"blocks." + std::to_string(below(3)) + "*"}});
          break;
        case 2:
          rules.push_back({Rule::Selects::kFunction, {"relu"}});
          break;
        case 3:
          rules.push_back({Rule::Selects::kFunction, {"add", "*"}});
          break;
        default:
          rules.push_back({Rule::Selects::kMark, {"here"}});
      }
    }
    return rules;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  TensorId pick(const std::vector<TensorId>& from) { return from[random_() % from.size()]; }

  /// A module that calls return to, now and then; sometimes a mark.
  void place() {
    if (below(4) == 0) block_ = below(3);
    const std::string path = "blocks." + std::to_string(block_);
    last().modules = {{path, "Block"}};
    if (below(3) == 0) last().modules.push_back({path + ".inner", "Inner"});
    if (below(12) == 0) last().marks = {{"here", {}}};
  }
  void keep(std::vector<TensorId>& where, TensorId made) {
    place();
    where.push_back(made);
  }

  void add_call() {
    switch (below(16)) {
      case 0:
        keep(whole_, call("aten::neg", {pick(whole_)}, {8}));
        break;
      case 1:
        keep(whole_, call("aten::mean.dim", {pick(split_), {0}, false}, {8}));
        break;
      case 2:
        keep(whole_, call("aten::sum.dim_IntList", {pick(split_), {0}, false}, {8}));
        break;
      case 3:
        keep(split_, call("aten::cumsum", {pick(split_), 0}, {B, 8}));
        break;
      case 4:
        keep(split_, call("aten::rand_like", {pick(split_)}, {B, 8}));
        last().tags = {"nondeterministic_seeded"};
        break;
      case 5:
        keep(split_, call("_c10d_functional::all_reduce", {pick(split_), "sum", "0"}, {B, 8}));
        break;
      case 6:
        keep(split_, view("aten::view", {pick(split_), {B, 8}}, {B, 8}));
        break;
      case 7:
        keep(split_, write("aten::copy_", {pick(split_), pick(split_)}));
        break;
      case 8:
        add_counting();
        break;
      case 9:
        add_mutating();
        break;
      case 10:
        add_sorting();
        break;
      case 11:
        keep(split_, call("my::unknown", {pick(split_), pick(whole_)}, {B, 8}));
        break;
      default:
        keep(split_, call("aten::add.Tensor", {pick(split_), pick(split_), 1}, {B, 8}));
        keep(split_, call("aten::relu", {split_.back()}, {B, 8}));
    }
  }

  /// Row numbers made early, used in another module, or twice.
  void add_counting() {
    if (numbers_.empty() || below(2) == 0) {
      keep(numbers_, call("aten::arange", {B}, {B}, kI64));
    }
    keep(split_, call("aten::index.Tensor", {pick(split_), {pick(numbers_)}}, {B, 8}));
  }

  /// Rows taken in the order of a sort; put back at once or some calls later.
  void add_sorting() {
    if (order_.valid()) {
      const auto inverse = call("aten::argsort", {order_, 0, false}, {B}, kI64);
      place();
      keep(split_, call("aten::index.Tensor", {taken_, {inverse}}, {B, 8}));
      order_ = {};
      return;
    }
    order_ = calls("aten::sort.stable", {input({B}, kI64), true, 0, false}, {{B}, {B}}, kI64)[1];
    place();
    taken_ = call("aten::index.Tensor", {pick(split_), {order_}}, {B, 8});
    place();
    taken_ = call("aten::relu", {taken_}, {B, 8});
    place();
  }

  void add_mutating() {
    const TensorId updated = pick(split_);
    keep(split_, call("my::mix", {updated, pick(split_)}, {B, 8}));
    last().writes = {0};
    last().updates = {{.tensor = updated, .output = 0}};
  }

  std::mt19937_64 random_;
  std::vector<TensorId> split_, whole_, numbers_;
  TensorId order_, taken_;
  int block_ = 0;
};

TEST(RandomModels, AreCutSoundly) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    RandomModel model(seed);
    const std::vector<Rule> rules = model.rules();
    rows::Rows rows = model.rows({.row_wise = {"my::mix"}});
    inplace::update_in_place(rows);
    const Cut cut = make_cut(std::move(rows), rules);
    ASSERT_EQ(fault_of(cut), "") << "seed " << seed << '\n'
                                 << to_string(cut.rows) << to_string(cut);
    ASSERT_THAT(graph_of(cut), dynaflow::testing::Works()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dynaflow::cut

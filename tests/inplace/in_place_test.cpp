#include "import/inplace/in_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/captures.h"
#include "support/sketch.h"

namespace dynaflow::inplace {
namespace {

using capture::Call;
using capture::TensorId;
using rows::Sketch;
using testing::ElementsAre;

constexpr DType kI64 = DType::kI64;

/// A cache of 16 places per row, and what a step writes into it.
struct Cached : Sketch {
  TensorId cache = input({B, 16, 4});
  TensorId at = input({1}, kI64);
  TensorId fresh = input({B, 1, 4});

  TensorId index_copy(TensorId to) {
    return call("aten::index_copy", {to, 1, at, fresh}, {B, 16, 4});
  }
  /// A custom operator as tracing leaves it: writes to `seen`, of which `updated` is the memory.
  TensorId mutating(TensorId updated, TensorId seen) {
    const TensorId made = call("my::mix", {seen, fresh}, tensor(updated).sizes);
    last().writes = {0};
    last().updates = {{.tensor = updated, .output = 0}};
    return made;
  }
};

struct Rewritten {
  explicit Rewritten(const Sketch& sketch) : rows(sketch.rows()) { undone = update_in_place(rows); }

  [[nodiscard]] std::vector<std::string> ops() const {
    std::vector<std::string> names;
    for (const Call& call : rows.capture.calls) names.push_back(call.op);
    return names;
  }

  rows::Rows rows;
  Undone undone;
};

TEST(CopyBack, OfAFunctionalUpdateIsUndone) {
  Cached s;
  s.write("aten::copy_", {s.cache, s.index_copy(s.cache)});
  const Rewritten done(s);
  EXPECT_THAT(done.ops(), ElementsAre("aten::index_copy_"));
  EXPECT_EQ(done.undone.copies_back, 1U);
  EXPECT_EQ(done.undone.updates, 1U);
}

TEST(CopyBack, UndoneIsAWriteToTheFirstArgument) {
  Cached s;
  s.write("aten::copy_", {s.cache, s.index_copy(s.cache)});
  const Rewritten done(s);
  const Call& call = done.rows.capture.calls.front();
  EXPECT_THAT(call.writes, ElementsAre(0U));
  EXPECT_THAT(call.aliases, ElementsAre(Call::Alias{0, 0}));
}

TEST(CopyBack, OfAChainOfUpdatesIsUndone) {
  Cached s;
  const auto twice = s.index_copy(s.index_copy(s.cache));
  s.write("aten::copy_", {s.cache, s.call("aten::mul.Tensor", {twice, 2}, {s.B, 16, 4})});
  EXPECT_THAT(Rewritten(s).ops(),
              ElementsAre("aten::index_copy_", "aten::index_copy_", "aten::mul_"));
}

TEST(CopyBack, OfANewContentThatIsReadIsUndone) {
  Cached s;
  const auto updated = s.index_copy(s.cache);
  s.give_back(s.call("aten::relu", {updated}, {s.B, 16, 4}));
  s.write("aten::copy_", {s.cache, updated});
  EXPECT_THAT(Rewritten(s).ops(), ElementsAre("aten::index_copy_", "aten::relu"));
}

TEST(CopyBack, StaysWhereTheOldContentIsReadLater) {
  Cached s;
  const auto updated = s.index_copy(s.cache);
  s.give_back(s.call("aten::relu", {s.cache}, {s.B, 16, 4}));
  s.write("aten::copy_", {s.cache, updated});
  EXPECT_THAT(Rewritten(s).ops(), ElementsAre("aten::index_copy", "aten::relu", "aten::copy_"));
}

TEST(CopyBack, StaysWhereTheOldContentIsReadLaterThroughAView) {
  Cached s;
  const auto seen = s.view("aten::transpose.int", {s.cache, 1, 2}, {s.B, 4, 16});
  const auto updated = s.index_copy(s.cache);
  s.give_back(s.call("aten::relu", {seen}, {s.B, 4, 16}));
  s.write("aten::copy_", {s.cache, updated});
  EXPECT_EQ(Rewritten(s).undone.copies_back, 0U);
}

TEST(CopyBack, IsUndoneWhereTheOldContentWasReadBefore) {
  Cached s;
  s.give_back(s.call("aten::relu", {s.cache}, {s.B, 16, 4}));
  s.write("aten::copy_", {s.cache, s.index_copy(s.cache)});
  EXPECT_EQ(Rewritten(s).undone.copies_back, 1U);
}

TEST(CopyBack, StaysWhereAMiddleContentIsReadLater) {
  Cached s;
  const auto once = s.index_copy(s.cache);
  const auto twice = s.index_copy(once);
  s.give_back(s.call("aten::relu", {once}, {s.B, 16, 4}));
  s.write("aten::copy_", {s.cache, twice});
  EXPECT_EQ(Rewritten(s).undone.copies_back, 0U);
}

TEST(CopyBack, StaysWhereTheNewContentIsGivenBack) {
  Cached s;
  const auto updated = s.index_copy(s.cache);
  s.give_back(updated);
  s.write("aten::copy_", {s.cache, updated});
  EXPECT_THAT(Rewritten(s).ops(), ElementsAre("aten::index_copy", "aten::copy_"));
}

TEST(CopyBack, StaysWhereAViewOfTheNewContentIsGivenBack) {
  Cached s;
  const auto updated = s.index_copy(s.cache);
  s.give_back(s.view("aten::transpose.int", {updated, 1, 2}, {s.B, 4, 16}));
  s.write("aten::copy_", {s.cache, updated});
  EXPECT_EQ(Rewritten(s).undone.copies_back, 0U);
}

TEST(CopyBack, StaysWhereTheCallHasNoFormThatWrites) {
  Cached s;
  s.write("aten::copy_", {s.cache, s.call("aten::cumsum", {s.cache, 1}, {s.B, 16, 4})});
  EXPECT_EQ(Rewritten(s).undone.copies_back, 0U);
}

TEST(CopyBack, StaysWhereTheUpdateChangesTheType) {
  Cached s;
  const auto flags = s.input({s.B, 16, 4}, kI64);
  s.write("aten::copy_", {flags, s.call("aten::mul.Tensor", {flags, s.cache}, {s.B, 16, 4})});
  EXPECT_EQ(Rewritten(s).undone.copies_back, 0U);
}

TEST(CopyBack, StaysWhereTheUpdateChangesTheShape) {
  Cached s;
  const auto row = s.input({1, 16, 4});
  s.write("aten::copy_", {s.cache, s.call("aten::add.Tensor", {row, s.cache}, {s.B, 16, 4})});
  EXPECT_EQ(Rewritten(s).undone.copies_back, 0U);
}

TEST(CopyBack, StaysWhereTheUpdateIsOfAnotherTensor) {
  Cached s;
  s.write("aten::copy_", {s.cache, s.index_copy(s.input({s.B, 16, 4}))});
  EXPECT_EQ(Rewritten(s).undone.copies_back, 0U);
}

TEST(CopyBack, StaysWhereTheUpdateReadsOtherPlacesOfWhatItWouldWriteTo) {
  Cached s;
  const auto first = s.view("aten::slice.Tensor", {s.cache, 1, 0, 1, 1}, {s.B, 1, 4});
  s.write("aten::copy_", {s.cache, s.call("aten::sub.Tensor", {s.cache, first}, {s.B, 16, 4})});
  EXPECT_THAT(Rewritten(s).ops(), ElementsAre("aten::slice", "aten::sub", "aten::copy_"));
}

TEST(CopyBack, BetweenTwoInputsStays) {
  Cached s;
  s.write("aten::copy_", {s.cache, s.input({s.B, 16, 4})});
  EXPECT_EQ(Rewritten(s).undone.copies_back, 0U);
}

TEST(CopyBack, OfEachOfSeveralIsJudgedForItself) {
  Cached s;
  const auto other = s.input({s.B, 16, 4});
  const auto a = s.index_copy(s.cache);
  const auto b = s.index_copy(other);
  s.give_back(s.call("aten::relu", {other}, {s.B, 16, 4}));
  s.write("aten::copy_", {s.cache, a});
  s.write("aten::copy_", {other, b});
  EXPECT_THAT(Rewritten(s).ops(),
              ElementsAre("aten::index_copy_", "aten::index_copy", "aten::relu", "aten::copy_"));
}

TEST(MutatingCall, OfAnInputThatIsCopiedBackWritesToIt) {
  Cached s;
  s.write("aten::copy_", {s.cache, s.mutating(s.cache, s.cache)});
  const Rewritten done(s);
  EXPECT_THAT(done.ops(), ElementsAre("my::mix"));
  EXPECT_EQ(done.undone.clones, 0U);
}

TEST(MutatingCall, OfAnInputThatIsNotCopiedBackWritesToAClone) {
  Cached s;
  s.give_back(s.mutating(s.cache, s.cache));
  const Rewritten done(s);
  EXPECT_THAT(done.ops(), ElementsAre("aten::clone", "my::mix"));
  const auto& calls = done.rows.capture.calls;
  EXPECT_EQ(calls[0].arguments[0].tensor(), s.cache);
  EXPECT_EQ(calls[1].arguments[0].tensor(), calls[0].outputs[0]);
  EXPECT_EQ(calls[1].updates[0].tensor, calls[0].outputs[0]);
}

TEST(MutatingCall, OfATensorNobodyReadsLaterWritesToIt) {
  Cached s;
  const auto own = s.call("aten::relu", {s.cache}, {s.B, 16, 4});
  s.give_back(s.mutating(own, own));
  EXPECT_THAT(Rewritten(s).ops(), ElementsAre("aten::relu", "my::mix"));
}

TEST(MutatingCall, OfATensorThatIsReadLaterWritesToAClone) {
  Cached s;
  const auto own = s.call("aten::relu", {s.cache}, {s.B, 16, 4});
  s.give_back(s.mutating(own, own));
  s.give_back(s.call("aten::neg", {own}, {s.B, 16, 4}));
  const Rewritten done(s);
  EXPECT_THAT(done.ops(), ElementsAre("aten::relu", "aten::clone", "my::mix", "aten::neg"));
  EXPECT_EQ(done.rows.capture.calls[3].arguments[0].tensor(), own);
}

TEST(MutatingCall, OfATensorThatIsGivenBackAsItWasWritesToAClone) {
  Cached s;
  const auto own = s.call("aten::relu", {s.cache}, {s.B, 16, 4});
  s.give_back(own);
  s.give_back(s.mutating(own, own));
  EXPECT_EQ(Rewritten(s).undone.clones, 1U);
}

TEST(MutatingCall, OfAnotherViewOfATensorReadLaterWritesToAClone) {
  Cached s;
  const auto own = s.call("aten::relu", {s.cache}, {s.B, 16, 4});
  const auto flat = s.call("aten::_unsafe_view", {own, {s.B, 64}}, {s.B, 64});
  s.give_back(s.mutating(flat, flat));
  s.give_back(s.call("aten::neg", {own}, {s.B, 16, 4}));
  EXPECT_EQ(Rewritten(s).undone.clones, 1U);
}

TEST(MutatingCall, ThatWritesThroughAViewSeesTheCloneThroughIt) {
  Cached s;
  const auto half = s.view("aten::slice.Tensor", {s.cache, 1, 0, 8, 1}, {s.B, 8, 4});
  s.give_back(s.mutating(s.cache, half));
  const Rewritten done(s);
  EXPECT_THAT(done.ops(), ElementsAre("aten::slice", "aten::clone", "aten::slice", "my::mix"));
  const auto& calls = done.rows.capture.calls;
  EXPECT_EQ(calls[2].arguments[0].tensor(), calls[1].outputs[0]);
  EXPECT_EQ(calls[3].arguments[0].tensor(), calls[2].outputs[0]);
}

TEST(MutatingCall, ThatWritesThroughAViewLeavesItsOtherReadersTheOldContent) {
  Cached s;
  const auto half = s.view("aten::slice.Tensor", {s.cache, 1, 0, 8, 1}, {s.B, 8, 4});
  s.give_back(s.call("aten::relu", {half}, {s.B, 8, 4}));
  s.give_back(s.mutating(s.cache, half));
  s.give_back(s.call("aten::neg", {half}, {s.B, 8, 4}));
  const Rewritten done(s);
  const auto& calls = done.rows.capture.calls;
  // neg reads a view of the cache, not of the clone that my::mix writes to
  const auto read = calls.back().arguments[0].tensor().value();
  const auto view = std::ranges::find_if(
      calls, [&](const Call& call) { return !call.outputs.empty() && call.outputs[0] == read; });
  ASSERT_NE(view, calls.end());
  EXPECT_EQ(view->arguments[0].tensor(), s.cache);
}

TEST(MutatingCall, OfTwoTensorsClonesTheOneThatIsNeeded) {
  Cached s;
  const auto own = s.call("aten::relu", {s.cache}, {s.B, 16, 4});
  const auto made = s.calls("my::swap", {s.cache, own}, {{s.B, 16, 4}, {s.B, 16, 4}});
  s.last().writes = {0, 1};
  s.last().updates = {{.tensor = s.cache, .output = 0}, {.tensor = own, .output = 1}};
  s.give_back(made[0]);
  s.give_back(made[1]);
  const Rewritten done(s);
  EXPECT_THAT(done.ops(), ElementsAre("aten::relu", "aten::clone", "my::swap"));
  EXPECT_EQ(done.rows.capture.calls[1].arguments[0].tensor(), s.cache);
}

TEST(Rewriting, KeepsOneAnswerPerCallAndTensor) {
  Cached s;
  s.give_back(s.mutating(s.cache, s.cache));
  s.write("aten::copy_", {s.fresh, s.call("aten::mul.Tensor", {s.fresh, 2}, {s.B, 1, 4})});
  const Rewritten done(s);
  EXPECT_EQ(done.rows.calls.size(), done.rows.capture.calls.size());
  EXPECT_EQ(done.rows.tensors.size(), done.rows.capture.tensors.size());
}

class RealModel : public testing::TestWithParam<std::string> {};

TEST_P(RealModel, CopiesNothingBackButStatistics) {
  rows::Rows rows = rows::find_rows(capture::captured(GetParam()));
  update_in_place(rows);
  // The statistics of a BatchNorm in training are small and stay.
  const std::int64_t expected = GetParam() == "cnn_batchnorm_train" ? 4 : 0;
  EXPECT_EQ(std::ranges::count(rows.capture.calls, "aten::copy_", &Call::op), expected);
}

INSTANTIATE_TEST_SUITE_P(Zoo, RealModel, testing::ValuesIn(capture::captured_models()),
                         [](const auto& model) { return model.param; });

TEST(Decoding, UpdatesEveryCacheInPlace) {
  rows::Rows rows = rows::find_rows(capture::captured("llama_decode"));
  const auto copies = std::ranges::count(rows.capture.calls, "aten::copy_", &Call::op);
  const Undone undone = update_in_place(rows);
  EXPECT_EQ(undone.copies_back, copies);
  EXPECT_EQ(undone.clones, 0U);
  EXPECT_EQ(std::ranges::count(rows.capture.calls, "aten::index_copy", &Call::op), 0);
  EXPECT_EQ(std::ranges::count(rows.capture.calls, "aten::index_copy_", &Call::op), 4);  // 2 layers
}

/// A product, its sum over the ranks, and what is made of it.
struct Reduced : Sketch {
  TensorId x = input({B, 8});
  TensorId product = call("aten::relu", {x}, {B, 8});

  TensorId reduce(TensorId of) {
    return call("_c10d_functional::all_reduce", {of, "sum", "tp"}, {B, 8});
  }
  TensorId wait(TensorId of) { return call("_c10d_functional::wait_tensor", {of}, {B, 8}); }
};

TEST(Collective, WorksInPlaceWhereNobodyReadsItsArgumentAgain) {
  Reduced s;
  s.give_back(s.call("aten::exp", {s.wait(s.reduce(s.product))}, {s.B, 8}));
  const Rewritten done(s);
  EXPECT_THAT(done.ops(), ElementsAre("aten::relu", "_c10d_functional::all_reduce_",
                                      "_c10d_functional::wait_tensor", "aten::exp"));
  EXPECT_EQ(done.undone.collectives, 1U);
  EXPECT_EQ(done.rows.capture.calls[2].arguments[0].tensor(), s.product);
}

TEST(Collective, KeepsAnArgumentThatSomebodyReadsOrThatIsTheCallers) {
  Reduced s;
  const TensorId sum = s.wait(s.reduce(s.product));
  s.give_back(s.call("aten::add.Tensor", {sum, s.product}, {s.B, 8}));
  s.give_back(s.wait(s.reduce(s.x)));
  EXPECT_EQ(Rewritten(s).undone.collectives, 0U);
}

TEST(Collective, KeepsAnArgumentThatIsReturned) {
  Reduced s;
  s.give_back(s.product);
  s.give_back(s.wait(s.reduce(s.product)));
  EXPECT_EQ(Rewritten(s).undone.collectives, 0U);
}

TEST(Collective, ThatTheModelMadeInPlaceIsAgain) {
  Reduced s;
  const TensorId sum = s.wait(s.reduce(s.product));
  s.give_back(
      s.call("aten::exp", {s.call("aten::copy", {s.product, sum, false}, {s.B, 8})}, {s.B, 8}));
  const Rewritten done(s);
  EXPECT_THAT(done.ops(), ElementsAre("aten::relu", "_c10d_functional::all_reduce_",
                                      "_c10d_functional::wait_tensor", "aten::alias", "aten::exp"));
}

}  // namespace
}  // namespace dynaflow::inplace

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/captures.h"
#include "support/sketch.h"

// Real models: nothing is unknown, and only BatchNorm in training needs all rows at once.
namespace dynaflow::rows {
namespace {

using Runs = CallRows::Runs;

std::vector<std::string> calls_that_run(const Rows& rows, Runs runs) {
  std::vector<std::string> ops;
  for (std::size_t i = 0; i < rows.calls.size(); ++i) {
    if (rows.calls[i].runs == runs) ops.push_back(rows.capture.calls[i].op);
  }
  return ops;
}

class RealModel : public testing::TestWithParam<std::string> {
 protected:
  Rows rows = find_rows(capture::captured(GetParam()));
};

TEST_P(RealModel, HasNoUnknownCall) {
  EXPECT_THAT(calls_that_run(rows, Runs::kUnknown), testing::IsEmpty());
}

TEST_P(RealModel, MergesNothingButBatchNormInTraining) {
  const std::vector<std::string> expected(GetParam() == "cnn_batchnorm_train" ? 2 : 0,
                                          "aten::_native_batch_norm_legit_functional");
  EXPECT_EQ(calls_that_run(rows, Runs::kMerged), expected);
}

TEST_P(RealModel, GivesBackRowsOfTheBatch) {
  for (const capture::Output& output : rows.capture.outputs) {
    if (!output.tensor.valid()) continue;
    EXPECT_EQ(rows.tensors[output.tensor.index].kind, Carry::Kind::kSplit);
  }
}

TEST_P(RealModel, HasACarryForEveryTensorAndAnAnswerForEveryCall) {
  EXPECT_EQ(rows.tensors.size(), rows.capture.tensors.size());
  EXPECT_EQ(rows.calls.size(), rows.capture.calls.size());
}

TEST_P(RealModel, ReadsNoTensorBeforeItIsMade) {
  std::vector<bool> made(rows.capture.tensors.size());
  for (const capture::Input& input : rows.capture.inputs) {
    if (input.tensor.valid()) made[input.tensor.index] = true;
  }
  for (const capture::Call& call : rows.capture.calls) {
    capture::for_each_input(call, [&](capture::TensorId t) { EXPECT_TRUE(made[t.index]); });
    for (const capture::TensorId output : call.outputs) {
      if (output.valid()) made[output.index] = true;
    }
  }
}

TEST_P(RealModel, KeepsLocalTensorsInOneGroup) {
  std::vector<std::uint32_t> group(rows.capture.tensors.size(), CallRows::kNoGroup);
  for (std::size_t i = 0; i < rows.calls.size(); ++i) {
    for (const capture::TensorId output : rows.capture.calls[i].outputs) {
      if (output.valid()) group[output.index] = rows.calls[i].group;
    }
    capture::for_each_input(rows.capture.calls[i], [&](capture::TensorId input) {
      if (rows.tensors[input.index].kind != Carry::Kind::kLocal) return;
      EXPECT_EQ(group[input.index], rows.calls[i].group);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, RealModel, testing::ValuesIn(capture::captured_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace dynaflow::rows

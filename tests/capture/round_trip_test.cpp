#include <gtest/gtest.h>

#include <cmath>

#include "capture/document.h"
#include "capture/equal.h"
#include "support/captures.h"

namespace dynaflow::capture {
namespace {

class RealModel : public testing::TestWithParam<std::string> {};

TEST_P(RealModel, IsTheSameAfterARoundTrip) {
  const Capture capture = captured(GetParam());
  EXPECT_EQ(difference(from_json(to_json(capture)).value(), capture), "");
}

TEST_P(RealModel, IsWrittenTheSameTwice) {
  const std::string text = to_json(captured(GetParam()));
  EXPECT_EQ(to_json(from_json(text).value()), text);
}

TEST_P(RealModel, PrintsALineForEachCall) {
  const Capture capture = captured(GetParam());
  const std::string text = to_string(capture);
  EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(capture.calls.size() + 1));
}

INSTANTIATE_TEST_SUITE_P(Zoo, RealModel, testing::ValuesIn(captured_models()),
                         [](const auto& model) { return model.param; });

Capture small() { return from_json(document().dump()).value(); }

TEST(RoundTrip, KeepsSomethingOfEverything) {
  EXPECT_EQ(difference(from_json(to_json(small())).value(), small()), "");
}

TEST(RoundTrip, KeepsNumbersThatJsonHasNoWordFor) {
  const Capture again = from_json(to_json(small())).value();
  const auto number = [&](std::size_t i) {
    return std::get<double>(again.calls[0].arguments[i].value);
  };
  EXPECT_EQ(number(7), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(number(8)));
  EXPECT_EQ(number(9), std::numeric_limits<double>::infinity());
}

TEST(RoundTrip, KeepsADoubleThatIsAnInteger) {
  auto with = document();
  with["calls"][0]["arguments"][4] = 1.0;
  const Capture capture = from_json(to_json(from_json(with.dump()).value())).value();
  EXPECT_TRUE(std::holds_alternative<double>(capture.calls[0].arguments[4].value));
}

TEST(RoundTrip, KeepsOutputsThatAreNoTensors) {
  const Capture again = from_json(to_json(small())).value();
  EXPECT_EQ(again.outputs[1].symbol, Extent(SymbolId{0}) + 1);
  EXPECT_EQ(again.outputs[2].scalar, "3");
  EXPECT_FALSE(again.outputs[3].tensor.valid() || again.outputs[3].symbol);
}

TEST(RoundTrip, KeepsDerivedSymbolsOfDerivedSymbols) {
  auto with = document();
  with["tensors"][2]["sizes"][1] = {"max", {"mod", {"floordiv", "S", 2}, 3}, {"min", "B", 4}};
  const Capture capture = from_json(with.dump()).value();
  EXPECT_EQ(difference(from_json(to_json(capture)).value(), capture), "");
}

TEST(RoundTrip, FillsInWhatMayBeLeftOut) {
  const Capture capture = small();
  EXPECT_EQ(capture.tensors[1].offset, Extent(0));
  EXPECT_TRUE(capture.calls[1].writes.empty() && capture.calls[1].modules.empty());
}

}  // namespace
}  // namespace dynaflow::capture

#include <gtest/gtest.h>

#include "capture/document.h"

namespace dynaflow::capture {
namespace {

using Json = nlohmann::ordered_json;

/// The small document with this as the last size of y.
Capture with_size(const Json& size) {
  Json json = document();
  json["tensors"][2]["sizes"][1] = size;
  return from_json(json.dump()).value();
}

/// What a written size is for B rows and a length of S.
std::int64_t evaluated(const Json& size, std::int64_t rows, std::int64_t length) {
  const Capture capture = with_size(size);
  std::vector<std::int64_t> values(capture.symbols.size());
  values[0] = rows;
  values[1] = length;
  capture.complete(values);
  return capture.tensors[2].sizes[1].evaluate(values);
}

TEST(DerivedSymbol, OfFloordivRoundsDown) {
  EXPECT_EQ(evaluated({"floordiv", "S", 4}, 1, 7), 1);
  EXPECT_EQ(evaluated({"floordiv", "S", 4}, 1, 8), 2);
}

TEST(DerivedSymbol, OfFloordivRoundsDownBelowZero) {
  EXPECT_EQ(evaluated({"floordiv", {"add", "S", -10}, 4}, 1, 7), -1);
  EXPECT_EQ(evaluated({"floordiv", "S", -4}, 1, 7), -2);
  EXPECT_EQ(evaluated({"floordiv", {"add", "S", -11}, -2}, 1, 7), 2);
}

TEST(DerivedSymbol, OfModHasTheDivisorsSign) {
  EXPECT_EQ(evaluated({"mod", "S", 4}, 1, 7), 3);
  EXPECT_EQ(evaluated({"mod", {"add", "S", -8}, 4}, 1, 7), 3);
  EXPECT_EQ(evaluated({"mod", "S", -4}, 1, 7), -1);
  EXPECT_EQ(evaluated({"mod", "S", 4}, 1, 8), 0);
}

TEST(DerivedSymbol, OfCeildivRoundsUp) {
  EXPECT_EQ(evaluated({"ceildiv", "S", 4}, 1, 7), 2);
  EXPECT_EQ(evaluated({"ceildiv", "S", 4}, 1, 8), 2);
  EXPECT_EQ(evaluated({"ceildiv", "S", 4}, 1, 0), 0);
  EXPECT_EQ(evaluated({"ceildiv", {"add", "S", -10}, 2}, 1, 7), -1);
}

TEST(DerivedSymbol, OfMaxAndMinIsOneOfThem) {
  EXPECT_EQ(evaluated({"max", "S", "B"}, 3, 7), 7);
  EXPECT_EQ(evaluated({"min", "S", "B"}, 3, 7), 3);
  EXPECT_EQ(evaluated({"max", {"add", "S", -9}, -5}, 3, 7), -2);
}

TEST(DerivedSymbol, OfSeveralOperandsTakesThemInOrder) {
  EXPECT_EQ(evaluated({"max", "S", "B", 9}, 3, 7), 9);
  EXPECT_EQ(evaluated({"floordiv", "S", 2, 2}, 1, 13), 3);
}

TEST(DerivedSymbol, OfDivisionByZeroIsZero) {
  EXPECT_EQ(evaluated({"floordiv", "S", "B"}, 0, 7), 0);
  EXPECT_EQ(evaluated({"mod", "S", "B"}, 0, 7), 0);
}

TEST(DerivedSymbol, OfADerivedSymbolIsCompletedAfterIt) {
  EXPECT_EQ(evaluated({"mul", {"mod", {"floordiv", "S", 2}, 3}, 10}, 1, 11), 20);
}

TEST(DerivedSymbol, IsOneHoweverOftenItIsWritten) {
  EXPECT_EQ(with_size({"floordiv", "S", 2}).symbols.size(), 4U);  // B, S, n, floordiv(S, 2)
  EXPECT_EQ(with_size({"floordiv", {"mul", "S", 1}, 2}).symbols.size(), 4U);
  EXPECT_EQ(with_size({"floordiv", "S", 3}).symbols.size(), 5U);
}

TEST(DerivedSymbol, IsNamedByWhatItComputes) {
  EXPECT_EQ(with_size({"floordiv", "S", 2}).symbols[3].name, "floordiv(S, 2)");
}

TEST(Size, IsAPolynomial) {
  EXPECT_EQ(evaluated({"add", {"mul", 2, "B", "S"}, {"pow", "S", 2}, -1}, 3, 5), 54);
  EXPECT_EQ(evaluated({"pow", "S", 0}, 3, 5), 1);
}

TEST(Size, DependsOnWhatItsDerivedSymbolsDependOn) {
  const Capture capture = with_size({"mul", 2, {"floordiv", {"add", "S", 1}, 2}});
  const Extent& size = capture.tensors[2].sizes[1];
  EXPECT_TRUE(capture.depends_on(size, SymbolId{1}));
  EXPECT_FALSE(capture.depends_on(size, SymbolId{0}));
}

TEST(Size, DependsOnDataThroughDerivedSymbols) {
  const Capture capture = with_size({"max", {"floordiv", "n", 2}, 1});
  EXPECT_TRUE(capture.depends_on_data(capture.tensors[2].sizes[1]));
  EXPECT_TRUE(capture.depends_on_data(capture.tensors[3].sizes[0]));
  EXPECT_FALSE(capture.depends_on_data(capture.tensors[0].sizes[1]));
}

TEST(Batch, IsTheSymbolOfItsRole) { EXPECT_EQ(with_size(8).batch(), SymbolId{0}); }

TEST(Batch, IsInvalidWhereThereIsNone) {
  Json json = document();
  json["symbols"][0]["role"] = "size";
  EXPECT_FALSE(from_json(json.dump()).value().batch().valid());
}

}  // namespace
}  // namespace dynaflow::capture

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "capture/document.h"

// Every way in which a document is no Capture: refused by C1, with the place.
namespace dynaflow::capture {
namespace {

using Json = nlohmann::ordered_json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct Spoilt {
  std::string name;
  std::string place;  ///< what the place must end in
  std::string says;   ///< what the message must hold
  std::function<void(Json&)> spoil;
};

void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.name; }

class BadDocument : public testing::TestWithParam<Spoilt> {};

TEST_P(BadDocument, IsRefusedWithThePlace) {
  Json json = document();
  GetParam().spoil(json);
  const std::string found = complaint(json);
  EXPECT_THAT(found, EndsWith("capture document, " + GetParam().place));
  EXPECT_THAT(found, HasSubstr(GetParam().says));
}

const std::vector<Spoilt> kSpoilt = {
    {"NoFormat", "", "format", [](Json& j) { j.erase("format"); }},
    {"AnotherFormat", "", "format is \"dynaflow-capture/2\"",
     [](Json& j) { j["format"] = "dynaflow-capture/2"; }},
    {"NoName", "", "name", [](Json& j) { j.erase("name"); }},
    {"NoSymbols", "symbols", "symbols", [](Json& j) { j.erase("symbols"); }},
    {"NoTensors", "tensors", "tensors", [](Json& j) { j.erase("tensors"); }},
    {"NoInputs", "inputs", "inputs", [](Json& j) { j.erase("inputs"); }},
    {"NoCalls", "calls", "calls", [](Json& j) { j.erase("calls"); }},
    {"NoOutputs", "outputs", "outputs", [](Json& j) { j.erase("outputs"); }},
    {"CallsThatAreNoList", "calls", "no list", [](Json& j) { j["calls"] = "none"; }},

    {"SymbolWithoutRole", "symbols[1]", "role", [](Json& j) { j["symbols"][1].erase("role"); }},
    {"SymbolOfUnknownRole", "symbols[1]", "unknown role 'derived'",
     [](Json& j) { j["symbols"][1]["role"] = "derived"; }},
    {"TwoBatches", "symbols[1]", "a second batch symbol",
     [](Json& j) { j["symbols"][1]["role"] = "batch"; }},
    {"SymbolTwice", "symbols[2]", "a second symbol 'S'",
     [](Json& j) { j["symbols"][2]["name"] = "S"; }},

    {"TensorWithoutName", "tensors[0]", "name", [](Json& j) { j["tensors"][0].erase("name"); }},
    {"TensorOfUnknownDtype", "tensors[1]", "unknown dtype 'f8'",
     [](Json& j) { j["tensors"][1]["dtype"] = "f8"; }},
    {"SizesWithoutStrides", "tensors[0]", "sizes without strides",
     [](Json& j) { j["tensors"][0]["strides"].erase(2); }},
    {"SizeOfUnknownSymbol", "tensors[0]", "no symbol 'T'",
     [](Json& j) { j["tensors"][0]["sizes"][1] = "T"; }},
    {"SizeOfUnknownFunction", "tensors[0]", "unknown size function 'sqrt'",
     [](Json& j) { j["tensors"][0]["sizes"][1] = {"sqrt", "S", 2}; }},
    {"SizeWithoutOperands", "tensors[0]", "no size",
     [](Json& j) { j["tensors"][0]["sizes"][1] = Json::array({"add"}); }},
    {"SizeThatIsNoInteger", "tensors[0]", "no size",
     [](Json& j) { j["tensors"][0]["sizes"][1] = 2.5; }},
    {"NegativePower", "tensors[0]", "a power of no size",
     [](Json& j) { j["tensors"][0]["sizes"][1] = {"pow", "S", -1}; }},
    {"PowerWithoutEnd", "tensors[0]", "a power of no size",
     [](Json& j) { j["tensors"][0]["sizes"][1] = {"pow", "S", std::int64_t{1} << 60}; }},
    {"PowerWithoutExponent", "tensors[0]", "index",
     [](Json& j) { j["tensors"][0]["sizes"][1] = {"pow", "S"}; }},

    {"InputOfUnknownRole", "inputs[1]", "unknown role 'guest'",
     [](Json& j) { j["inputs"][1]["role"] = "guest"; }},
    {"InputWithoutTensor", "inputs[1]", "tensor", [](Json& j) { j["inputs"][1].erase("tensor"); }},
    {"InputOfUnknownTensor", "inputs[1]", "no tensor 9",
     [](Json& j) { j["inputs"][1]["tensor"] = 9; }},
    {"SymbolInputWithoutSymbol", "inputs[0]", "symbol",
     [](Json& j) { j["inputs"][0].erase("symbol"); }},
    {"TwoInputsOfOneTensor", "inputs[3]", "tensor x is made a second time",
     [](Json& j) { j["inputs"][3]["tensor"] = 0; }},

    {"CallWithoutOp", "calls[0]", "op", [](Json& j) { j["calls"][0].erase("op"); }},
    {"CallWithoutArguments", "calls[1]", "arguments",
     [](Json& j) { j["calls"][1].erase("arguments"); }},
    {"ArgumentOfUnknownTensor", "calls[0]", "no tensor 4",
     [](Json& j) { j["calls"][0]["arguments"][0]["t"] = 4; }},
    {"ArgumentOfANegativeTensor", "calls[0]", "no tensor -1",
     [](Json& j) { j["calls"][0]["arguments"][0]["t"] = -1; }},
    {"ArgumentOfHalfATensor", "calls[0]", "no tensor 0.5",
     [](Json& j) { j["calls"][0]["arguments"][0]["t"] = 0.5; }},
    {"ArgumentOfUnknownKind", "calls[0]", "unknown argument 'generator'",
     [](Json& j) { j["calls"][0]["arguments"][0] = {{"generator", "cpu"}}; }},
    {"ArgumentOfTwoKinds", "calls[0]", "an argument object has one key",
     [](Json& j) { j["calls"][0]["arguments"][0] = {{"t", 0}, {"e", 1}}; }},
    {"UnknownFloat", "calls[0]", "no number 'huge'",
     [](Json& j) { j["calls"][0]["arguments"][7]["float"] = "huge"; }},
    {"DtypeThatIsNoName", "calls[0]", "string",
     [](Json& j) { j["calls"][0]["arguments"][10]["dtype"] = 3; }},
    {"ComplexOfOnePart", "calls[0]", "no complex number",
     [](Json& j) { j["calls"][0]["arguments"][14]["scalar_complex"] = "i"; }},
    {"OutputOfUnknownTensor", "calls[1]", "no tensor 7",
     [](Json& j) { j["calls"][1]["outputs"][0] = 7; }},
    {"WrittenArgumentThatIsNotThere", "calls[0]", "writes an argument it has not",
     [](Json& j) { j["calls"][0]["writes"][0] = 15; }},
    {"WrittenArgumentBeforeTheFirst", "calls[0]", "writes an argument it has not",
     [](Json& j) { j["calls"][0]["writes"][0] = -1; }},
    {"AliasOfNoArgument", "calls[0]", "an alias of what is not there",
     [](Json& j) { j["calls"][0]["aliases"][0] = {0, 15}; }},
    {"AliasOfNoOutput", "calls[0]", "an alias of what is not there",
     [](Json& j) { j["calls"][0]["aliases"][0] = {2, 0}; }},
    {"UpdateOfNoOutput", "calls[0]", "an update without its output",
     [](Json& j) { j["calls"][0]["updates"][0] = {0, 2}; }},
    {"UpdateOfNoTensor", "calls[0]", "no tensor 8",
     [](Json& j) { j["calls"][0]["updates"][0] = {8, 0}; }},
    {"TensorMadeTwice", "calls[1]", "tensor y is made a second time",
     [](Json& j) { j["calls"][1]["outputs"][0] = 2; }},
    {"TensorReadBeforeItIsMade", "calls[0]", "tensor z is read before it is made",
     [](Json& j) { j["calls"][0]["arguments"][0]["t"] = 3; }},
    {"TensorThatMakesItself", "calls[1]", "tensor z is read before it is made",
     [](Json& j) { j["calls"][1]["arguments"][0]["t"] = 3; }},

    {"UnknownTensorGivenBack", "outputs[0]", "no tensor 4",
     [](Json& j) { j["outputs"][0]["tensor"] = 4; }},
    {"TensorGivenBackThatNobodyMakes", "outputs[0]", "tensor z is read before it is made",
     [](Json& j) {
       j["calls"].erase(1);
       j["outputs"][0]["tensor"] = 3;
     }},
    {"UnknownSymbolGivenBack", "outputs[1]", "no symbol 'T'",
     [](Json& j) { j["outputs"][1]["symbol"] = "T"; }},
};

INSTANTIATE_TEST_SUITE_P(C1, BadDocument, testing::ValuesIn(kSpoilt),
                         [](const auto& spoilt) { return spoilt.param.name; });

TEST(BadText, IsRefused) {
  const auto read = from_json("{\"format\": ");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().first().rule.id, "C1");
}

TEST(BadText, ThatIsNoObjectIsRefused) {
  EXPECT_TRUE(from_json("[]").error().broke(kBadCapture));
  EXPECT_TRUE(from_json("3").error().broke(kBadCapture));
}

TEST(BadText, IsToldWhatToDo) {
  EXPECT_THAT(from_json("[]").error().first().fix, StartsWith("write it with"));
}

TEST(GoodDocument, IsFine) { EXPECT_EQ(complaint(document()), "fine"); }

// Whatever is taken out or replaced, the answer is a Capture or C1.
TEST(AnyDocument, IsReadOrRefused) {
  std::vector<Json::json_pointer> places;
  const Json flat = document().flatten();
  for (const auto& [place, value] : flat.items()) places.emplace_back(place);
  const std::vector<Json> others = {nullptr, -1, 99, 0.5, true, "", "B", Json::array(), {{"t", 0}}};
  for (const auto& place : places) {
    for (const Json& other : others) {
      Json json = document();
      json[place] = other;
      const std::string found = complaint(json);
      EXPECT_NE(found, "another rule");
      if (found != "fine") continue;
      EXPECT_EQ(complaint(Json::parse(to_json(from_json(json.dump()).value()))), "fine") << place;
    }
  }
}

}  // namespace
}  // namespace dynaflow::capture

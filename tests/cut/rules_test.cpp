#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cut/check.h"
#include "import/cut/labels.h"
#include "support/sketch.h"

namespace dynaflow::cut {
namespace {

using capture::Module;
using capture::TensorId;
using rows::Sketch;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Selects = Rule::Selects;

/// Two layers, each an attention that holds a projection, and a feed-forward.
struct Layers : Sketch {
  using Modules = std::vector<Module>;

  explicit Layers(int count = 2) {
    for (int i = 0; i < count; ++i) {
      const std::string layer = "layers." + std::to_string(i);
      const Modules outer{{"", "Model"}, {layer, "Layer"}};
      Modules attention = outer;
      attention.push_back({layer + ".attn", "Attention"});
      Modules projection = attention;
      projection.push_back({layer + ".attn.proj", "Linear"});
      Modules feed = outer;
      feed.push_back({layer + ".mlp", "Mlp"});
      normed.push_back(inside(outer, "aten::relu"));
      attended.push_back(inside(attention, "aten::tanh"));
      projected.push_back(inside(projection, "aten::exp"));
      fed.push_back(inside(feed, "aten::gelu"));
    }
    give_back(x);
  }

  TensorId inside(const Modules& modules, const std::string& op) {
    x = call(op, {x}, {B, 8});
    last().modules = modules;
    return x;
  }
  [[nodiscard]] Cut cut(const std::vector<Rule>& rules) const { return make_cut(rows(), rules); }

  TensorId x = input({B, 8});
  std::vector<TensorId> normed, attended, projected, fed;
};

TEST(Glob, MatchesAll) {
  EXPECT_TRUE(matches("mm", "mm"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*mm", "addmm"));
  EXPECT_TRUE(matches("layers.*.mlp", "layers.12.mlp"));
  EXPECT_TRUE(matches("a?c*", "abcd"));
  EXPECT_TRUE(matches("*a*b*", "xxaxxbxx"));
  EXPECT_TRUE(matches("**", "any"));
}

TEST(Glob, MatchesNothingLess) {
  EXPECT_FALSE(matches("mm", "bmm"));
  EXPECT_FALSE(matches("mm", "mm_"));
  EXPECT_FALSE(matches("?", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("*a*b", "ab c"));
}

TEST(ModuleRule, ByClassMakesOneRegionOfEachModule) {
  const Layers s;
  const Cut cut = s.cut({{Selects::kModule, {"Attention"}}});
  EXPECT_EQ(region_of(cut, s.attended[0]), "layers.0.attn");
  EXPECT_EQ(region_of(cut, s.projected[0]), "layers.0.attn");
  EXPECT_EQ(region_of(cut, s.attended[1]), "layers.1.attn");
}

TEST(ModuleRule, ByPathMatchesThatPath) {
  const Layers s;
  const Cut cut = s.cut({{Selects::kModule, {"layers.1.mlp"}}});
  EXPECT_EQ(region_of(cut, s.fed[1]), "layers.1.mlp");
  EXPECT_NE(region_of(cut, s.fed[0]), "layers.0.mlp");
}

TEST(ModuleRule, ByPathGlobMatchesAllOfThem) {
  const Layers s;
  const Cut cut = s.cut({{Selects::kModule, {"layers.*.mlp"}}});
  EXPECT_EQ(region_of(cut, s.fed[0]), "layers.0.mlp");
  EXPECT_EQ(region_of(cut, s.fed[1]), "layers.1.mlp");
}

TEST(ModuleRule, OfNestedModulesTakesTheDeepest) {
  const Layers s;
  const Cut cut = s.cut({{Selects::kModule, {"layers.0.*"}}});
  EXPECT_EQ(region_of(cut, s.attended[0]), "layers.0.attn");
  EXPECT_EQ(region_of(cut, s.projected[0]), "layers.0.attn.proj");
}

TEST(ModuleRule, LaterRulesWin) {
  const Layers s;
  const Cut cut = s.cut({{Selects::kModule, {"Linear"}}, {Selects::kModule, {"Attention"}}});
  EXPECT_EQ(region_of(cut, s.projected[0]), "layers.0.attn");
}

TEST(ModuleRule, GivesItsTags) {
  const Layers s;
  const Cut cut = s.cut({{Selects::kModule, {"Attention"}, {"slow", "attention"}}});
  EXPECT_THAT(region_named(cut, "layers.0.attn").tags, ElementsAre("slow", "attention"));
}

TEST(ModuleRule, LeavesTheRestBetween) {
  const Layers s;
  const Cut cut = s.cut({{Selects::kModule, {"Attention"}}});
  EXPECT_THAT(region_names(cut), ElementsAre("layers.0", "layers.0.attn", "layers.0.mlp",
                                             "layers.1.attn", "layers.1.mlp"));
}

TEST(FunctionRule, MakesARegionOfEachCall) {
  const Layers s;
  const Cut cut = s.cut({{Selects::kFunction, {"gelu"}}});
  EXPECT_EQ(region_of(cut, s.fed[0]), "layers.0.mlp.gelu");
  EXPECT_EQ(region_named(cut, "layers.0.mlp.gelu").calls.size(), 1U);
}

TEST(FunctionRule, MatchesEveryWayToWriteAnOperator) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto y = s.call("aten::add.Tensor", {x, x}, {s.B, 8});
  s.last().user_calls = {{"torch.nn.functional.thing", ""}, {"thing", ""}};
  s.give_back(s.call("aten::relu", {y}, {s.B, 8}));
  for (const std::string pattern : {"add", "aten::add", "aten::add.Tensor", "aten.add.Tensor",
                                    "thing", "torch.nn.functional.*", "aten.ad?.*"}) {
    const Cut cut = make_cut(s.rows(), {{Selects::kFunction, {pattern}}});
    EXPECT_THAT(cut.warnings, IsEmpty()) << pattern;
    EXPECT_EQ(region_of(cut, y), "add") << pattern;
  }
}

TEST(FunctionRule, MakesOneRegionOfAllThatOneCallOfAFunctionDid) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto doubled = s.call("aten::add.Tensor", {x, x}, {s.B, 8});
  s.last().user_calls = {{"gate", "gate"}};
  const auto other = s.call("aten::relu", {x}, {s.B, 8});
  const auto gated = s.call("aten::mul.Tensor", {doubled, x}, {s.B, 8});
  s.last().user_calls = {{"gate", "gate"}};
  const auto again = s.call("aten::mul.Tensor", {gated, other}, {s.B, 8});
  s.last().user_calls = {{"gate", "gate_1"}};
  s.give_back(s.call("aten::relu", {again}, {s.B, 8}));
  const Cut cut = make_cut(s.rows(), {{Selects::kFunction, {"gate"}}});
  EXPECT_EQ(region_named(cut, "gate").calls.size(), 2U);
  EXPECT_EQ(region_of(cut, doubled), region_of(cut, gated));
  EXPECT_NE(region_of(cut, gated), region_of(cut, again));
}

TEST(FunctionRule, MatchesTheDefaultOverloadAsItIsPrinted) {
  const Layers s;
  EXPECT_THAT(s.cut({{Selects::kFunction, {"aten.gelu.default"}}}).warnings, IsEmpty());
}

TEST(FunctionRule, OfASequenceMakesOneRegionOfEachRun) {
  const Layers s;
  const Cut cut = s.cut({{Selects::kFunction, {"tanh", "exp"}, {"pair"}}});
  EXPECT_EQ(region_of(cut, s.attended[0]), "layers.0.attn.tanh");
  EXPECT_EQ(region_of(cut, s.projected[0]), "layers.0.attn.tanh");
  EXPECT_EQ(region_of(cut, s.projected[1]), "layers.1.attn.tanh");
  EXPECT_THAT(region_named(cut, "layers.1.attn.tanh").tags, ElementsAre("pair"));
}

TEST(FunctionRule, OfASequenceNeedsAllOfIt) {
  const Layers s;
  EXPECT_EQ(s.cut({{Selects::kFunction, {"tanh", "gelu"}}}).warnings.size(), 1U);
}

TEST(FunctionRule, OfASequenceSeesThroughViews) {
  Sketch s;
  const auto x = s.input({s.B, 8});
  const auto y = s.call("aten::tanh", {x}, {s.B, 8});
  const auto seen = s.view("aten::view", {y, {s.B, 2, 4}}, {s.B, 2, 4});
  const auto z = s.call("aten::exp", {seen}, {s.B, 2, 4});
  s.give_back(z);
  const Cut cut = make_cut(s.rows(), {{Selects::kFunction, {"tanh", "exp"}}});
  EXPECT_THAT(cut.warnings, IsEmpty());
  EXPECT_EQ(region_of(cut, y), region_of(cut, z));
  EXPECT_EQ(cut.regions.size(), 1U);
}

TEST(FunctionRule, OfRunsThatOverlapTakesThemOneAfterTheOther) {
  Sketch s;
  auto x = s.input({s.B, 8});
  for (int i = 0; i < 4; ++i) x = s.call("aten::exp", {x}, {s.B, 8});
  s.give_back(x);
  EXPECT_EQ(make_cut(s.rows(), {{Selects::kFunction, {"exp", "exp"}}}).regions.size(), 2U);
}

TEST(FunctionRule, WithoutPatternsMatchesNothing) {
  const Layers s;
  EXPECT_EQ(s.cut({{Selects::kFunction, {}}}).warnings.size(), 1U);
  EXPECT_EQ(s.cut({{Selects::kModule, {}}}).warnings.size(), 1U);
}

struct Marked : Layers {
  Marked() : Layers(0) {
    for (int i = 0; i < 2; ++i) {
      const std::string layer = "layers." + std::to_string(i);
      before.push_back(inside({{layer, "Layer"}}, "aten::relu"));
      marked.push_back(inside({{layer, "Layer"}, {layer + ".mlp", "Mlp"}}, "aten::tanh"));
      last().marks = {{"experts", {"memory"}}};
    }
    give_back(x);
  }

  std::vector<TensorId> before, marked;
};

TEST(Mark, InTheModelNeedsNoRule) {
  const Marked s;
  const Cut cut = s.cut({});
  EXPECT_EQ(region_of(cut, s.marked[0]), "layers.0.experts");
  EXPECT_EQ(region_of(cut, s.marked[1]), "layers.1.experts");
  EXPECT_THAT(region_named(cut, "layers.0.experts").tags, ElementsAre("memory"));
}

TEST(Mark, WithARuleHasTheTagsOfBoth) {
  const Marked s;
  const Cut cut = s.cut({{Selects::kMark, {"exp*"}, {"mine"}}});
  EXPECT_THAT(region_named(cut, "layers.0.experts").tags, ElementsAre("mine", "memory"));
}

TEST(Mark, IsOverruledByARule) {
  const Marked s;
  EXPECT_EQ(region_of(s.cut({{Selects::kModule, {"Mlp"}}}), s.marked[0]), "layers.0.mlp");
}

TEST(Mark, OfTheInnermostWins) {
  Marked s;
  s.last().marks = {{"outer", {}}, {"inner", {}}};
  EXPECT_EQ(region_of(s.cut({}), s.marked[1]), "layers.1.inner");
}

TEST(NoRule, MakesRepeatedBlocksRegions) {
  const Layers s;
  const Cut cut = s.cut({});
  EXPECT_THAT(region_names(cut), ElementsAre("layers.0", "layers.1"));
  EXPECT_EQ(cut.bodies, 1U);
}

TEST(NoRule, TakesOneBlockAloneForNoRepetition) {
  const Layers s(1);
  EXPECT_EQ(s.cut({}).regions.size(), 1U);
  EXPECT_NE(region_names(s.cut({})).front(), "layers.0.attn");
}

struct Networked : Layers {
  Networked() : Layers(0) {
    for (int i = 0; i < 2; ++i) {
      const Module layer{"layers." + std::to_string(i), "Layer"};
      inside({layer}, "aten::relu");
      reduced.push_back(call("_c10d_functional::all_reduce", {x, "sum", "tp"}, {B, 8}));
      last().modules = {layer};
      x = call("_c10d_functional::wait_tensor", {reduced.back()}, {B, 8});
      last().modules = {layer};
      inside({layer}, "aten::exp");
    }
    give_back(x);
  }

  std::vector<TensorId> reduced;
};

TEST(NoRule, LeavesCollectivesAlone) {
  const Networked s;
  const Cut cut = s.cut({});
  const Region& reduce = region_named(cut, "layers.0.all_reduce");
  EXPECT_EQ(reduce.calls.size(), 1U);
  EXPECT_THAT(reduce.tags, ElementsAre("network"));
  EXPECT_EQ(reduce.group, "tp");
  EXPECT_EQ(fault_of(cut), "");
}

TEST(NoRule, KnowsThatRanksMayExchangeDifferentAmounts) {
  Layers s(0);
  const Module layer{"layers.0", "Layer"};
  s.inside({layer}, "aten::relu");
  s.x = s.call("_c10d_functional::all_to_all_single", {s.x, "tp"}, {s.B, 8});
  s.last().modules = {layer};
  s.give_back(s.x);
  EXPECT_THAT(region_named(s.cut({}), "layers.0.all_to_all_single").tags,
              ElementsAre("network", "uneven"));
}

TEST(AnyRule, LeavesCollectivesAlone) {
  const Networked s;
  const Cut cut = s.cut({{Selects::kFunction, {"relu"}}});
  EXPECT_EQ(region_of(cut, s.reduced[0]), "layers.0.all_reduce");
}

TEST(ModuleRule, EndsWhereACollectiveBegins) {
  const Networked s;
  const Cut cut = s.cut({{Selects::kModule, {"Layer"}}});
  EXPECT_THAT(region_names(cut), ElementsAre("layers.0", "layers.0.all_reduce", "layers.0#2",
                                             "layers.1", "layers.1.all_reduce", "layers.1#2"));
  EXPECT_EQ(fault_of(cut), "");
}

TEST(Wait, IsPartOfNoOp) {
  const Networked s;
  const Cut cut = s.cut({});
  EXPECT_EQ(region_named(cut, "layers.0.all_reduce").writes.front(), s.reduced[0]);
  EXPECT_THAT(region_names(cut),
              testing::Not(testing::Contains(testing::HasSubstr("wait_tensor"))));
}

TEST(Collective, ThatARuleNamesHasItsTags) {
  const Networked s;
  const Cut cut = s.cut({{Selects::kFunction, {"all_reduce"}, {"mine"}}});
  EXPECT_THAT(region_named(cut, "layers.0.all_reduce").tags, ElementsAre("mine", "network"));
  EXPECT_EQ(region_named(cut, "layers.0.all_reduce").group, "tp");
}

TEST(Warning, NamesTheNearestModules) {
  const Layers s;
  EXPECT_THAT(s.cut({{Selects::kModule, {"Atention"}}}).warnings,
              ElementsAre("the rule 'Atention' matches nothing; near: Attention, Linear, Layer"));
}

TEST(Warning, NamesTheNearestFunctions) {
  const Layers s;
  EXPECT_THAT(s.cut({{Selects::kFunction, {"gelo"}}}).warnings,
              ElementsAre("the rule 'gelo' matches nothing; near: gelu, relu, exp"));
}

TEST(Warning, NamesTheNearestMarks) {
  const Marked s;
  EXPECT_THAT(s.cut({{Selects::kMark, {"expert"}}}).warnings,
              ElementsAre("the rule 'expert' matches nothing; near: experts"));
}

TEST(Warning, IsGivenForEachRuleThatMatchesNothing) {
  const Layers s;
  EXPECT_EQ(
      s.cut({{Selects::kModule, {"No"}}, {Selects::kModule, {"Mlp"}}, {Selects::kMark, {"x"}}})
          .warnings.size(),
      2U);
}

}  // namespace
}  // namespace dynaflow::cut

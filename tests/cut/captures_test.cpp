#include <gtest/gtest.h>

#include <algorithm>

#include "cut/check.h"
#include "import/cut/labels.h"
#include "import/inplace/in_place.h"
#include "support/captures.h"
#include "support/findings.h"

// Real models under several sets of rules: every cut is sound, and a Graph comes of it.
namespace dynaflow::cut {
namespace {

using Selects = Rule::Selects;

struct RuleSet {
  std::string name;
  std::vector<Rule> rules;
};

std::vector<RuleSet> rule_sets() {
  return {{"Default", {}},
          {"AttentionAndMlp",
           {{Selects::kModule, {"*Attention"}, {"attention"}},
            {Selects::kModule, {"*MLP"}},
            {Selects::kModule, {"*FeedForward"}},
            {Selects::kModule, {"*Moe*"}}}},
          {"EveryLinear", {{Selects::kModule, {"*Linear"}}, {Selects::kModule, {"*Norm*"}}}},
          {"EveryProduct", {{Selects::kFunction, {"*mm"}}, {Selects::kFunction, {"convolution"}}}},
          {"Everything", {{Selects::kFunction, {"*"}}}},
          {"OneModule", {{Selects::kModule, {"*"}}}}};
}

class Models : public ::testing::TestWithParam<std::tuple<std::string, RuleSet>> {
 protected:
  Models() {
    rows::Rows rows = rows::find_rows(capture::captured(std::get<0>(GetParam())));
    inplace::update_in_place(rows);
    cut = make_cut(std::move(rows), std::get<1>(GetParam()).rules);
  }

  Cut cut;
};

TEST_P(Models, AreCutSoundly) { EXPECT_EQ(fault_of(cut), "") << to_string(cut); }

TEST_P(Models, BecomeGraphs) { EXPECT_THAT(graph_of(cut), dynaflow::testing::Works()); }

TEST_P(Models, HaveUniqueNames) {
  std::vector<std::string> names = region_names(cut);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST_P(Models, PrintTwoLinesForEachRegion) {
  EXPECT_EQ(std::ranges::count(to_string(cut), '\n'),
            static_cast<std::ptrdiff_t>(2 * cut.regions.size() + 1));
}

INSTANTIATE_TEST_SUITE_P(Zoo, Models,
                         ::testing::Combine(::testing::ValuesIn(capture::captured_models()),
                                            ::testing::ValuesIn(rule_sets())),
                         [](const auto& with) {
                           return std::get<0>(with.param) + "_" + std::get<1>(with.param).name;
                         });

Cut llama(const std::vector<Rule>& rules) {
  return make_cut(rows::find_rows(capture::captured("llama")), rules);
}

TEST(Llama, HasOneBodyForItsLayers) {
  const Cut cut = llama({});
  const Region& first = region_named(cut, "model.layers.0");
  const Region& second = region_named(cut, "model.layers.1");
  EXPECT_GT(first.calls.size(), 50U);
  EXPECT_EQ(first.body, second.body);
}

TEST(Llama, HasOneBodyForItsAttentionsAndOneForItsMlps) {
  const Cut cut = llama({{Selects::kModule, {"LlamaAttention"}}, {Selects::kModule, {"LlamaMLP"}}});
  const auto body = [&](const std::string& name) { return region_named(cut, name).body; };
  EXPECT_EQ(body("model.layers.0.self_attn"), body("model.layers.1.self_attn"));
  EXPECT_EQ(body("model.layers.0.mlp"), body("model.layers.1.mlp"));
  EXPECT_NE(body("model.layers.0.mlp"), body("model.layers.0.self_attn"));
  EXPECT_LT(cut.bodies, cut.regions.size());
}

TEST(Decoding, UpdatesItsCachesInItsLayers) {
  rows::Rows rows = rows::find_rows(capture::captured("llama_decode"));
  inplace::update_in_place(rows);
  const Cut cut = make_cut(std::move(rows), {});
  EXPECT_EQ(region_named(cut, "model.layers.0").updates.size(), 2U);
  EXPECT_EQ(region_named(cut, "model.layers.0").body, region_named(cut, "model.layers.1").body);
}

}  // namespace
}  // namespace dynaflow::cut

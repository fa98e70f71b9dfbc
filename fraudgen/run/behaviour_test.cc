#include "fraudgen/run/behaviour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "fraudgen/run/settings.h"

namespace reveza::fraudgen {
namespace behaviour_test {

using coherent::Parameters;

TEST(Behaviour, SetsValuesByName) {
  Parameters parameters;
  ASSERT_TRUE(BehaviourKeys(parameters).Set("chains.most_hops", "6"));
  EXPECT_EQ(parameters.chains.hops.max, 6u);
  ASSERT_TRUE(BehaviourKeys(parameters).Set("risk.base", "-5"));
  EXPECT_EQ(parameters.risk.base, -5);
  ASSERT_TRUE(BehaviourKeys(parameters).Set("lookalikes.odd_hour", "7"));
  EXPECT_EQ(parameters.lookalikes.odd_hour, 7u);
}

TEST(Behaviour, RejectsUnknownKeysAndInvalidValues) {
  Parameters parameters;
  const auto message = [&](std::string_view key, std::string_view value) {
    const auto set = BehaviourKeys(parameters).Set(key, value);
    return set ? std::string() : set.error().message;
  };
  EXPECT_NE(message("chains.most_hop", "6").find("did you mean 'chains.most_hops'?"),
            std::string::npos);
  EXPECT_NE(message("elephants.in.the.room.today", "6").find("fraudgen config"), std::string::npos);
  EXPECT_NE(message("chains.most_hops", "-1").find("from 0 to"), std::string::npos);
  EXPECT_NE(message("chains.most_hops", "many").find("whole number"), std::string::npos);
}

// Every value survives formatting and parsing.
TEST(Behaviour, RoundTrips) {
  SettingsBuilder builder;
  std::string text = BehaviourText(Parameters());
  ASSERT_TRUE(builder.AddText(text, "my.toml"));
  EXPECT_EQ(BehaviourText(builder.Build()->behaviour), text);
  EXPECT_EQ(std::ranges::count(text.substr(0, text.find("[[")), '='),
            6 * (18 + 8 + 24) + 22 + 14 + 6 + 4 + 10 + 8 + 10 + 5 + 8 + 11 + 6 + 3 + 7);
  for (const char* part : {"\n[chains]\n", "\n[[scenario]]\nname = \"PHISHING\"\nweight = 6\n",
                           "\nkinds = { PIX = 5, BOLETO = 2, MOBILE_TOPUP = 1 }\n",
                           "\n[[scenario.move]]\nfrom = [\"left\", \"right\"]\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

// In TOML, a name is either a value or a section.
TEST(Behaviour, SectionsDoNotCollideWithSettings) {
  Parameters parameters;
  for (const BehaviourEntry& entry : BehaviourEntries(parameters)) {
    const std::string first = entry.section.substr(0, entry.section.find('.'));
    const auto key_of = [](const Setting& setting) { return setting.info.key; };
    EXPECT_EQ(std::ranges::count(AllSettings(), first, key_of), 0) << first;
  }
}

TEST(Behaviour, AffectsOnlyTheCoherentModel) {
  const auto hash_of = [](const std::string& model, const std::string& text) {
    SettingsBuilder builder;
    EXPECT_TRUE(builder.AddText(text, "my.toml"));
    EXPECT_TRUE(builder.AddFlag("model", model));
    return HashedText(builder.Build()->Resolved(10));
  };
  const std::string other = "[chains]\nmost_hops = 6\n";
  EXPECT_NE(hash_of("coherent", other), hash_of("coherent", ""));
  EXPECT_EQ(hash_of("classic", other), hash_of("classic", ""));
}

TEST(Behaviour, FilesAddAndReplaceScenarios) {
  SettingsBuilder builder;
  const std::string mine = "name = \"PHISHING\"\nweight = 1\namount = 500\n";
  ASSERT_TRUE(builder.AddText("seed = 2\n[[scenario]]\n" + mine, "my.toml"));
  ASSERT_TRUE(builder.AddScenario("name = \"MINE\"\nweight = 9\namount = 100\n", "mine.toml"));
  const auto settings = builder.Build();
  ASSERT_TRUE(settings);
  const auto& scenarios = settings->behaviour.scenarios;
  EXPECT_EQ(scenarios.size(), coherent::BuiltInScenarios().size() + 1);
  EXPECT_EQ(scenarios.back().name, "MINE");
  const auto replaced = std::ranges::find(scenarios, "PHISHING", &coherent::Scenario::name);
  EXPECT_EQ(replaced->amount.max, 500);
  EXPECT_NE(HashedText(*settings), HashedText(Settings()));
}

TEST(Behaviour, AWeightOfZeroRemovesAScenario) {
  SettingsBuilder builder;
  ASSERT_TRUE(builder.AddScenario("name = \"PHISHING\"\nweight = 0\n", "none.toml"));
  const auto settings = builder.Build();
  ASSERT_TRUE(settings) << settings.error().message;
  const auto removed =
      std::ranges::find(settings->behaviour.scenarios, "PHISHING", &coherent::Scenario::name);
  EXPECT_EQ(removed->weight, 0u);
  EXPECT_FALSE(builder.AddScenario("name = \"PHISHING\"\nweight = 1\n", "none.toml"));
}

TEST(Behaviour, RejectsScenariosThatAreNone) {
  SettingsBuilder builder;
  for (const auto& [text, said] :
       {std::pair("scenario = 5\n", "my.toml:1:1: scenario: expected tables"),
        std::pair("[[scenario]]\nweight = 1\n", "name is missing"),
        std::pair("[typologies.PHISHING]\nweight = 1\n", "fraudgen scenarios")}) {
    const Status added = builder.AddText(text, "my.toml");
    ASSERT_FALSE(added) << text;
    EXPECT_NE(added.error().message.find(said), std::string::npos) << added.error().message;
  }
}

TEST(Behaviour, ErrorsNameTheLine) {
  SettingsBuilder builder;
  const auto added = builder.AddText("seed = 1\n[chains]\nmost_hops = \"x\"\n", "my.toml");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message,
            "my.toml:3: chains.most_hops: 'x' is invalid; expected a whole number from 0 to "
            "1000000000");
}

}  // namespace behaviour_test
}  // namespace reveza::fraudgen

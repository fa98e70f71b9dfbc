#include "fraudgen/run/behaviour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

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
  ASSERT_TRUE(BehaviourKeys(parameters).Set("typologies.CONTA_TOMADA.device", "own"));
  EXPECT_EQ(parameters.typologies[1].device, coherent::DeviceUse::kOwn);
  ASSERT_TRUE(BehaviourKeys(parameters).Set("typologies.CONTA_TOMADA.web", "true"));
  EXPECT_TRUE(parameters.typologies[1].web);
  ASSERT_TRUE(BehaviourKeys(parameters).Set("typologies.CONTA_TOMADA.kinds.TED", "9"));
  EXPECT_EQ(parameters.typologies[1].kinds[6], 9u);
  ASSERT_TRUE(BehaviourKeys(parameters).Set("typologies.CONTA_TOMADA.most_amount", "20000"));
  EXPECT_EQ(parameters.typologies[1].amount.max, 20'000);
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
  EXPECT_NE(message("typologies.PHISHING.web", "yes").find("true or false"), std::string::npos);
  EXPECT_NE(message("typologies.PHISHING.hours", "offices").find("'office'"), std::string::npos);
}

// Every value survives formatting and parsing.
TEST(Behaviour, RoundTrips) {
  SettingsBuilder builder;
  std::string text = BehaviourText(Parameters());
  ASSERT_TRUE(builder.AddText(text, "my.toml"));
  EXPECT_EQ(BehaviourText(builder.Build()->behaviour), text);
  EXPECT_EQ(std::ranges::count(text, '='),
            6 * (18 + 8 + 24) + 22 + 8 + 6 + 4 + 10 + 8 + 10 + 5 + 8 + 11 + 3 + 7 + 13 * (19 + 8));
  for (const char* part : {"\n[chains]\n", "\n[typologies.PHISHING]\nweight = 6\n",
                           "\n[typologies.PHISHING.kinds]\nPIX = ", "\nhours = \"any\"\n"}) {
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

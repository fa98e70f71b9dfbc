#include "fraudgen/model/coherent/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fraudgen/model/coherent/frauds.h"
#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace scenario_test {

Result<Scenario> Read(const std::string& text) {
  ASSIGN_OR_RETURN(const Node root, ParseToml(text, "my.toml"));
  return ReadScenario(root, "my.toml");
}

constexpr std::string_view kHead = "name = \"MINE\"\nweight = 3\namount = [100, 900]\n";

TEST(Scenario, AllBuiltInOnesAreRead) {
  EXPECT_EQ(BuiltInScenarios().size(), BuiltInScenarioTexts().size());
  std::set<std::string_view> names;
  std::set<RingPattern> patterns;
  for (const BuiltInScenario& each : BuiltInScenarioTexts()) {
    const auto read = Read(std::string(each.text));
    ASSERT_TRUE(read) << each.name << ": " << read.error().message;
    EXPECT_EQ(read->name, each.name);
    EXPECT_TRUE(each.text.starts_with("# ")) << "the first line says what happens";
    names.insert(each.name);
    if (read->MovesMoney()) patterns.insert(read->pattern);
  }
  EXPECT_EQ(names.size(), BuiltInScenarios().size());
  EXPECT_EQ(patterns.size(), 5u);
}

TEST(Scenario, TextIsReadBack) {
  for (const Scenario& scenario : BuiltInScenarios()) {
    const std::string text = ScenarioText(scenario);
    const auto root = ParseToml(text, "my.toml");
    ASSERT_TRUE(root) << text;
    const auto again = ReadScenario(root->members.at(0).value.items.at(0), "my.toml");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(ScenarioText(*again), text);
  }
}

TEST(Scenario, DefaultsMakeAShortFileEnough) {
  const auto read = Read(std::string(kHead));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kinds[0], 1u);
  EXPECT_EQ(read->victims.max, 1u);
  EXPECT_FALSE(read->MovesMoney());
}

TEST(Scenario, ErrorsSayWhereAndWhatIsExpected) {
  const std::string accounts = "accounts = { a = 1, b = [2, 3] }\n";
  for (const auto& [text, where, expected] : std::vector<std::array<std::string, 3>>{
           {"weight = 3\n", "my.toml:1:1: ", "name is missing"},
           {"name = \"MINE\"\n", "my.toml:1:1: ", "weight is missing; expected"},
           {std::string(kHead) + "row = 3\n", "my.toml:4:1: ", "did you mean 'rows'?"},
           {std::string(kHead) + "rows = \"3\"\n", "my.toml:4:8: ", "[least, most], from 1 to 16"},
           {std::string(kHead) + "rows = [3, 2]\n", "my.toml:4:8: ", "[least, most]"},
           {std::string(kHead) + "rows = 17\n", "my.toml:4:8: ", "from 1 to 16"},
           {std::string(kHead) + "role = \"THIEF\"\n", "my.toml:4:8: ", "\"TAKEOVER\""},
           {std::string(kHead) + "web = 1\n", "my.toml:4:7: ", "true or false"},
           {std::string(kHead) + "kinds = { PIXX = 1 }\n", "my.toml:4:11: ", "did you mean 'PIX'?"},
           {std::string(kHead) + "kinds = 1\n", "my.toml:4:9: ", "{ PIX = 3, TED = 1 }"},
           {std::string(kHead) + "kinds = { PIX = 0 }\n", "my.toml:1:1: ", "weight above 0"},
           {std::string(kHead) + "accounts = { payer = 1 }\n", "my.toml:4:14: ", "reserved"},
           {std::string(kHead) + "accounts = { a = 9 }\n", "my.toml:4:18: ", "from 1 to 8"},
           {std::string(kHead) + accounts, "my.toml:1:1: ", "unless pays"},
           {std::string(kHead) + accounts + "pays = \"c\"\n", "my.toml:5:8: ", "\"a\", \"b\""},
           {std::string(kHead) + accounts + "pays = \"a\"\nmove = 1\n",
            "my.toml:6:8: ", "tables [[move]]"},
           {std::string(kHead) + accounts + "pays = \"a\"\n[[move]]\nfrom = \"a\"\n",
            "my.toml:6:1: ", "to is missing"},
           {std::string(kHead) + accounts +
                "pays = \"a\"\n[[move]]\nfrom = \"payer\"\nto = \"b\"\n",
            "my.toml:7:8: ", "expected one of the accounts: \"a\", \"b\""},
           {std::string(kHead) + accounts + "pays = \"a\"\n[[move]]\nfrom = \"a\"\nto = []\n",
            "my.toml:8:6: ", "\"outside\""},
           {"name = \"mine\"\nweight = 3\namount = 9\n", "my.toml:1:1: ", "capital letters"},
           {"name = \"MINE\"\nweight = 3\n",
            "my.toml:1:1: ", "set amount or income_thousandths"}}) {
    const auto read = Read(text);
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(read.error().message.starts_with(where)) << read.error().message;
    EXPECT_NE(read.error().message.find(expected), std::string::npos) << read.error().message;
  }
}

// The plans of a block whose only frauds are those of a scenario.
struct Planned {
  explicit Planned(Scenario scenario) {
    parameters.rows = 60'000;
    parameters.customers = 1'200;
    parameters.rows_per_block = 60'000;
    parameters.difficulty = 0;
    parameters.scenarios = {std::move(scenario)};
    world.emplace(parameters);
    chains.emplace(*world);
    planner.emplace(*world, *chains, 0);
    for (const FraudPlan& plan : planner->Plan()) {
      if (plan.IsCertain()) episodes[planner->LinkOf(plan).ring].push_back(plan);
      ++rows;
    }
  }
  uint8_t HopOf(const FraudPlan& plan) const { return planner->LinkOf(plan).hop; }

  Parameters parameters;
  std::optional<World> world;
  std::optional<Chains> chains;
  std::optional<FraudPlanner> planner;
  std::map<uint64_t, std::vector<FraudPlan>> episodes;
  uint64_t rows = 0;
};

Scenario BuiltIn(std::string_view name) {
  Parameters parameters;
  return Named(parameters, name);
}

TEST(Scenario, MoneyMovesOnAfterItArrivedAndLessAFee) {
  for (const std::string_view name :
       {"CONTA_COLETORA", "PULVERIZACAO", "ESPALHA_E_JUNTA", "CICLO", "CADEIA_DIVIDIDA"}) {
    const Planned planned(BuiltIn(name));
    EXPECT_EQ(planned.rows, planned.world->Frauds(0)) << name;
    ASSERT_GT(planned.episodes.size(), 50u) << name;
    for (const auto& [ring, plans] : planned.episodes) {
      std::map<uint64_t, int64_t> held;
      for (const FraudPlan& plan : plans) {
        if (planned.HopOf(plan) > 0) {
          ASSERT_LE(plan.amount, held[plan.customer]) << name;
          held[plan.customer] -= plan.amount;
        }
        if (plan.receiver < planned.world->customers()) held[plan.receiver] += plan.amount;
      }
    }
  }
}

TEST(Scenario, FanInHasSeveralVictimsAndOneCollector) {
  const Planned planned(BuiltIn("CONTA_COLETORA"));
  std::size_t several = 0;
  for (const auto& [ring, plans] : planned.episodes) {
    std::set<uint64_t> victims;
    std::set<AccountNumber> collectors;
    for (const FraudPlan& plan : plans) {
      if (planned.HopOf(plan) > 0) continue;
      victims.insert(plan.customer);
      collectors.insert(plan.receiver);
    }
    EXPECT_LE(collectors.size(), 1u);
    several += victims.size() >= 3 ? 1 : 0;
  }
  EXPECT_GT(several * 10, planned.episodes.size() * 6);
}

TEST(Scenario, CyclesReturnToThePayer) {
  const Planned planned(BuiltIn("CICLO"));
  std::size_t closed = 0;
  for (const auto& [ring, plans] : planned.episodes) {
    closed += std::ranges::any_of(plans,
                                  [&](const FraudPlan& plan) {
                                    return planned.HopOf(plan) == 3 &&
                                           plan.receiver == plans.front().customer;
                                  })
                  ? 1
                  : 0;
  }
  EXPECT_GT(closed * 10, planned.episodes.size() * 7);
}

// Each account on one side pays one on the other, so all paths meet.
TEST(Scenario, ScatteredMoneyIsGathered) {
  for (const auto& [name, hop] :
       {std::pair("ESPALHA_E_JUNTA", 2), std::pair("CADEIA_DIVIDIDA", 2)}) {
    const Planned planned(BuiltIn(name));
    std::size_t gathered = 0;
    for (const auto& [ring, plans] : planned.episodes) {
      std::set<uint64_t> senders;
      std::set<AccountNumber> receivers;
      for (const FraudPlan& plan : plans) {
        if (planned.HopOf(plan) != hop) continue;
        senders.insert(plan.customer);
        receivers.insert(plan.receiver);
      }
      EXPECT_LE(receivers.size(), 1u) << name;
      gathered += senders.size() > 1 ? 1 : 0;
    }
    EXPECT_GT(gathered * 10, planned.episodes.size() * 7) << name;
  }
}

TEST(Scenario, NeighboursShareACommonPoint) {
  const Planned planned(BuiltIn("PONTO_COMPROMETIDO"));
  std::map<uint64_t, std::set<uint64_t>> customers;
  for (const FraudPlan& plan : FraudPlanner(*planned.world, *planned.chains, 0).Plan()) {
    customers[plan.customer / World::kQuarter].insert(plan.customer);
  }
  std::size_t several = 0;
  for (const auto& [quarter, victims] : customers) several += victims.size() > 2 ? 1 : 0;
  EXPECT_GT(several * 2, customers.size());
}

// The rows of a scenario with moves do not depend on the instance or on other blocks.
TEST(Scenario, BlocksAreIndependent) {
  Parameters parameters = Small();
  parameters.scenarios = {BuiltIn("CADEIA_DIVIDIDA")};
  Collector first;
  Collector second;
  for (const uint64_t block : {2, 0}) {
    const auto model = ModelOf(parameters);
    ASSERT_TRUE(model->Make(block, model->tables(), first));
  }
  const auto model = ModelOf(parameters);
  for (const uint64_t block : {2, 0}) ASSERT_TRUE(model->Make(block, model->tables(), second));
  EXPECT_TRUE(first == second);
  EXPECT_GT(first[kRings].rows, 20u);
}

}  // namespace scenario_test
}  // namespace reveza::fraudgen::coherent

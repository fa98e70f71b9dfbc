// Every behaviour key of the coherent model affects the data or is rejected.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/run/behaviour.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen {
namespace behaviour_effect_test {

using coherent::Parameters;

// Hashes all rows of a model.
class Hasher : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
      const ColumnValues& values = batch.column(i);
      for (std::size_t row = 0; row < batch.rows(); ++row) {
        Add(batch.IsNull(i, row) ? 1 : 0);
        switch (batch.table().columns[i].type) {
          case ColumnType::kText:
            for (const char letter : values.TextAt(row)) Add(static_cast<unsigned char>(letter));
            break;
          case ColumnType::kCategory:
            Add(values.codes[row]);
            break;
          case ColumnType::kBoolean:
            Add(values.flags[row]);
            break;
          default:
            Add(static_cast<uint64_t>(values.numbers[row]));
        }
      }
    }
    return {};
  }
  uint64_t hash = 0;

 private:
  void Add(uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29); }
};

// Returns the parameters with which a key is tested.
std::string WorldOf(const BehaviourEntry& entry) {
  // Of few customers some profile has no victims.
  if (entry.Name().ends_with("susceptibility_percent")) return "victims";
  for (const char* own : {"ride_frauds", "chains", "victims"}) {
    if (entry.section == own) return own;
  }
  return "";
}

// Small, but with some of every feature.
Parameters Full(const std::string& world) {
  Parameters parameters;
  parameters.rows = 10'000;
  parameters.rides = world == "ride_frauds" ? 1'500 : 0;
  // Chains need many customers, victims few frauds.
  parameters.customers = world == "chains" || world == "victims" ? 300 : 90;
  parameters.frauds = {.billionths = world == "victims" ? 30'000'000u : 200'000'000u};
  // Unused payment types and disabled features would hide the effect of their keys.
  parameters.lookalikes.new_number_a_month = 40'000;
  parameters.lookalikes.new_sim_a_month = 40'000;
  parameters.risk.alert_above = 30'000;
  parameters.risk.block_above = 35'000;
  parameters.population.joining = 500'000;
  parameters.difficulty_scale.falsely_reported.max = 100'000;
  parameters.chains.mules_thousandths = 45;
  parameters.outcomes.pending = 500'000;
  parameters.outcomes.returned = 300'000;
  parameters.outcomes.typed_card_reversed = 300'000;
  parameters.outcomes.card_reversed = 300'000;
  parameters.outcomes.shop_pix_reversed = 300'000;
  parameters.outcomes.person_pix_reversed = 300'000;
  return parameters;
}

uint64_t HashOf(const coherent::CoherentModel& model) {
  Hasher hasher;
  for (uint64_t block = 0; block < model.blocks(); ++block) {
    EXPECT_TRUE(model.Make(block, model.tables(), hasher));
  }
  return hasher.hash;
}

template <typename T>
void Change(T& value, int64_t by) {
  if constexpr (std::is_same_v<T, bool>) {
    value = !value;
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(value == T{} ? 1 : 0);
  } else {
    value = static_cast<T>(static_cast<int64_t>(value) + by);
  }
}

// Candidates for a changed value: one has an effect, or all are rejected.
bool HasEffect(std::size_t index, const std::string& world, uint64_t plain) {
  bool accepted = false;
  for (const int64_t by : {40, 1, -1, -100, 900, 600, 30'000, -400, -60'000, 500'000}) {
    Parameters parameters = Full(world);
    std::visit([by](auto* place) { Change(*place, by); },
               BehaviourEntries(parameters)[index].field);
    const auto model = coherent::CoherentModel::Make(parameters);
    if (!model) continue;
    if (HashOf(**model) != plain) return true;
    accepted = true;
  }
  return !accepted;
}

TEST(BehaviourEffect, EveryKeyAffectsTheData) {
  Parameters any;
  const std::vector<BehaviourEntry> entries = BehaviourEntries(any);
  ASSERT_GT(entries.size(), 350u);
  std::map<std::string, uint64_t> plain;
  for (const std::string world : {"ride_frauds", "chains", "victims", ""}) {
    const auto model = coherent::CoherentModel::Make(Full(world));
    ASSERT_TRUE(model) << model.error().message;
    plain[world] = HashOf(**model);
    ASSERT_EQ(HashOf(**model), plain[world]);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string world = WorldOf(entries[i]);
    EXPECT_TRUE(HasEffect(i, world, plain[world])) << entries[i].Name();
  }
}

// Returns parameters with a single scenario, in which this key matters.
Parameters ScenarioFor(std::string_view key, bool moves = false) {
  Parameters parameters = Full("chains");
  coherent::Scenario scenario = {.name = "ANY",
                                 .weight = 1,
                                 .victims = {1, 3},
                                 .rows = {3, 4},
                                 .test_rows = 1,
                                 .gap_minutes = {5, 50},
                                 .kinds = {9, 5, 2, 2, 2, 2, 2, 2},
                                 .shop_thousandths = 200,
                                 .device = coherent::DeviceUse::kFraudster,
                                 .sim_swap = true,
                                 .before_minutes = {5, 90},
                                 .amount = {9'000, 90'000}};
  if (key == "account") scenario.victims = {1, 1};
  if (key == "device") {  // the own one has neither of these
    scenario.sim_swap = false;
    scenario.before_minutes = {0, 0};
  }
  if (key == "income_thousandths") {
    scenario.amount = {};
    scenario.income_thousandths = {50, 60};
  }
  if (moves || key == "pattern") {
    scenario.kinds = {1};
    scenario.shop_thousandths = 0;
    scenario.rows = {1, 2};
    scenario.test_rows = 0;
    scenario.groups = {{"first", {1, 1}}, {"second", {2, 3}}};
    scenario.pays = 0;
    scenario.moves = {{.from = {0}, .to = {1}}, {.from = {1}, .to = {coherent::kOutside}}};
  }
  parameters.scenarios = {scenario};
  return parameters;
}

// Returns whether some change of the field at `index` of fields_of(parameters) changes the data.
template <typename FieldsOf>
bool ChangesData(const Parameters& usual, FieldsOf fields_of, std::size_t index) {
  const uint64_t plain = HashOf(**coherent::CoherentModel::Make(usual));
  for (const int64_t by : {1, 40, -1, 900, -100, 30'000, -1'000'000}) {
    Parameters parameters = usual;
    std::visit(
        [by](auto* place) {
          if constexpr (requires { place->min; }) {
            place->max = static_cast<decltype(place->max)>(place->max + by);
          } else {
            Change(*place, by);
          }
        },
        fields_of(parameters)[index].value);
    const auto model = coherent::CoherentModel::Make(parameters);
    if (model && HashOf(**model) != plain) return true;
  }
  return false;
}

TEST(BehaviourEffect, EveryKeyOfAScenarioAffectsTheData) {
  const auto keys = [](Parameters& parameters) { return FieldsOf(parameters.scenarios[0]); };
  const auto keys_of_move = [](Parameters& parameters) {
    return FieldsOf(parameters.scenarios[0].moves[0]);
  };
  Parameters any = ScenarioFor("");
  const auto names = keys(any);
  for (std::size_t i = 0; i < names.size(); ++i) {
    // A single scenario has all frauds, whatever its weight.
    if (names[i].key == "weight") continue;
    EXPECT_TRUE(ChangesData(ScenarioFor(names[i].key), keys, i)) << names[i].key;
  }
  Parameters moving = ScenarioFor("", true);
  const auto names_of_move = keys_of_move(moving);
  for (std::size_t i = 0; i < names_of_move.size(); ++i) {
    EXPECT_TRUE(ChangesData(moving, keys_of_move, i)) << names_of_move[i].key;
  }
}

// Errors of rejected values name the key.
TEST(BehaviourEffect, ErrorsNameTheKey) {
  const std::vector<BehaviourEntry> names = [] {
    Parameters parameters;
    return BehaviourEntries(parameters);
  }();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Parameters parameters;
    std::visit(
        [](auto* field) {
          using T = std::remove_pointer_t<decltype(field)>;
          if constexpr (std::is_same_v<T, uint32_t> || std::is_same_v<T, int64_t>) {
            *field = 1'000'000'000;
          }
        },
        BehaviourEntries(parameters)[i].field);
    const Status status = Validate(parameters);
    if (status) continue;
    ++refused;
    const std::string& section = names[i].section;
    const bool month = section == "calendar.months" || section == "calendar.paydays";
    const std::string& said = status.error().message;
    EXPECT_TRUE(month || said.find(names[i].key) != std::string::npos ||
                said.find("chains must") != std::string::npos ||
                said.find("amounts") != std::string::npos)
        << names[i].Name() << ": " << said;
  }
  EXPECT_GT(refused, 100u);
}

}  // namespace behaviour_effect_test
}  // namespace reveza::fraudgen

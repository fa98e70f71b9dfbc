// Every behaviour key of the coherent model affects the data or is rejected.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
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

// Returns the parameters with which a section is tested.
std::string WorldOf(const std::string& section) {
  if (section.starts_with("typologies")) return "typologies";
  for (const char* own : {"ride_frauds", "chains", "victims"}) {
    if (section == own) return own;
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
  // These keys have no effect on fraud types without cards or with a single row.
  for (coherent::Typology& typology : parameters.typologies) {
    if (world == "typologies") typology.rows.max = std::max(typology.rows.max, 2u);
    for (uint32_t& weight : typology.kinds) {
      if (world == "typologies") weight = std::max(weight, 2u);
    }
  }
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
  ASSERT_GT(entries.size(), 600u);
  std::map<std::string, uint64_t> plain;
  for (const std::string world : {"ride_frauds", "chains", "victims", "typologies", ""}) {
    const auto model = coherent::CoherentModel::Make(Full(world));
    ASSERT_TRUE(model) << model.error().message;
    plain[world] = HashOf(**model);
    ASSERT_EQ(HashOf(**model), plain[world]);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string world = WorldOf(entries[i].section);
    EXPECT_TRUE(HasEffect(i, world, plain[world])) << entries[i].Name();
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
  EXPECT_GT(refused, 200u);
}

}  // namespace behaviour_effect_test
}  // namespace reveza::fraudgen

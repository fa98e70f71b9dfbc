// Honest rows share the properties of frauds.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace lookalikes_test {

TEST(CoherentModel, NoCombinationOfNullsAndKindsIsFraudOnly) {
  const Collected& rows = SmallRows()[kTransactions];
  struct Count {
    int rows = 0;
    int frauds = 0;
  };
  std::map<std::string, Count> shapes;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    std::string shape;
    for (const char* name : {"type", "channel", "card_entry"}) {
      shape += std::to_string(rows.Number(name, row)) + ' ';
    }
    for (std::size_t i = 0; i < rows.columns.size(); ++i) {
      const std::string_view name = rows.table->columns[i].name;
      if (!name.starts_with("fraud_")) shape += rows.columns[i].present[row] != 0 ? '1' : '0';
    }
    ++shapes[shape].rows;
    shapes[shape].frauds += static_cast<int>(rows.Number("is_fraud", row));
  }
  for (const auto& [shape, count] : shapes) {
    if (count.frauds >= 5) {
      EXPECT_LT(count.frauds, count.rows / 2) << shape;
    }
  }
}

TEST(CoherentModel, HonestCustomersCauseAlertsAndChanges) {
  const Collected& rows = SmallRows()[kTransactions];
  int suspected = 0;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    if (rows.Number("is_fraud", row) != 0) continue;
    const auto status = static_cast<PaymentStatus>(rows.Number("status", row));
    suspected += status == PaymentStatus::kBlocked ? 1 : 0;
    if (status == PaymentStatus::kDeclined) {
      const auto reason = static_cast<Refusal>(rows.Number("refusal_reason", row));
      suspected += reason == Refusal::kFraudSuspect ? 1 : 0;
    }
  }
  EXPECT_GT(suspected, 20);
  EXPECT_LT(suspected, 300);
  const Collected& changes = SmallRows()[kChanges];
  int numbers = 0;
  for (std::size_t row = 0; row < changes.rows; ++row) {
    const auto kind = static_cast<ChangeKind>(changes.Number("change", row));
    numbers += kind == ChangeKind::kPhoneChanged ? 1 : 0;
    EXPECT_EQ(changes.Has("device_id", row), kind == ChangeKind::kDeviceAdded ||
                                                 kind == ChangeKind::kDeviceReplaced ||
                                                 kind == ChangeKind::kDeviceRemoved);
  }
  EXPECT_GT(numbers, 20);
}

TEST(CoherentModel, HonestCustomersShareDevices) {
  Parameters parameters = Small();
  parameters.lookalikes.shared_device = 200'000;
  const auto model = ModelOf(parameters);
  Collector all = Everything(*model);
  const Collected& rows = all[kTransactions];
  const Collected& devices = all[kDevices];
  std::set<std::string> of_frauds;
  std::set<std::pair<std::string, std::string>> used;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const std::string& device = rows.Text("device_id", row);
    if (rows.Number("is_fraud", row) != 0) of_frauds.insert(device);
    used.emplace(device, rows.Text("customer_id", row));
  }
  std::map<std::string, std::vector<std::size_t>> users;
  for (std::size_t row = 0; row < devices.rows; ++row) {
    users[devices.Text("device_id", row)].push_back(row);
  }
  std::map<std::size_t, int> honest;  // by number of users
  int in_use = 0;
  for (const auto& [device, uses] : users) {
    for (const std::size_t row : uses) {
      for (const auto column : {"type", "manufacturer", "model", "operating_system"}) {
        ASSERT_EQ(devices.Number(column, row), devices.Number(column, uses[0]));
      }
      ASSERT_EQ(devices.Text("fingerprint", row), devices.Text("fingerprint", uses[0]));
      in_use += uses.size() > 1 && used.contains({device, devices.Text("customer_id", row)});
    }
    honest[uses.size()] += of_frauds.contains(device) ? 0 : 1;
  }
  for (const std::size_t count : {2, 3, 4}) EXPECT_GT(honest[count], 0) << count << " users";
  EXPECT_GT(in_use, 20);
}

}  // namespace lookalikes_test
}  // namespace reveza::fraudgen::coherent

#include "reveza/gpu/daemon/gpus.h"

#include <gtest/gtest.h>

namespace reveza::daemon {
namespace gpus_test {

constexpr Bytes kCard = 24 * kGiB;

Uuid UuidOf(std::uint8_t last) {
  Uuid uuid{};
  uuid[15] = last;
  return uuid;
}

nvml::GpuReading ReadingOf(std::vector<nvml::GpuProcess> processes) {
  nvml::GpuReading reading;
  reading.uuid = UuidOf(1);
  reading.name = "Test GPU";
  reading.used = 5 * kGiB;
  reading.processes = std::move(processes);
  return reading;
}

TEST(GpuTable, BudgetIsCapacityLessReserve) {
  Settings settings;
  const auto config = GpuTable::ConfigFor(settings, kCard);
  EXPECT_EQ(config.total, kCard);
  EXPECT_EQ(config.budget, kCard - 512 * kMiB) << "at most 512 MiB";
  EXPECT_EQ(config.granule, 64 * kMiB);
  const auto small = GpuTable::ConfigFor(settings, 256 * kMiB);
  EXPECT_EQ(small.budget, 248 * kMiB) << "1/32";
  EXPECT_EQ(small.granule, 4 * kMiB);
  settings.gpu_budget = 8 * kGiB;
  EXPECT_EQ(GpuTable::ConfigFor(settings, kCard).budget, 8 * kGiB);
  settings.gpu_budget = 100 * kGiB;
  EXPECT_EQ(GpuTable::ConfigFor(settings, kCard).budget, kCard - 512 * kMiB);
  settings.gpu_reserve = kGiB;
  EXPECT_EQ(GpuTable::ConfigFor(settings, kCard).budget, kCard - kGiB);
}

TEST(GpuTable, AssignsNumbersInOrder) {
  Settings settings;
  GpuTable table(settings);
  EXPECT_EQ(table.Register(UuidOf(1), kCard), 0u);
  EXPECT_EQ(table.Register(UuidOf(2), kCard), 1u);
  EXPECT_EQ(table.Register(UuidOf(1), kCard), 0u);
  for (std::uint8_t i = 3; i <= 16; ++i) EXPECT_TRUE(table.Register(UuidOf(i), kCard));
  EXPECT_EQ(table.Register(UuidOf(17), kCard), std::nullopt);
}

// Observes twice, as required for external processes.
void Observe(GpuTable& table, const std::vector<nvml::GpuReading>& readings,
             const std::set<pid_t>& clients = {}) {
  for (int i = 0; i < 2; ++i) table.Observe(readings, clients, {{0, clients}});
}

TEST(GpuTable, ExternalProcessesReduceBudget) {
  Settings settings;
  GpuTable table(settings);
  table.Register(UuidOf(1), kCard);
  const std::vector readings = {ReadingOf({{10, kGiB}, {11, 2 * kGiB}, {12, std::nullopt}})};
  Observe(table, readings, {10});
  EXPECT_EQ(table.at(0).name, "Test GPU");
  EXPECT_EQ(table.at(0).used, 5 * kGiB);
  ASSERT_EQ(table.at(0).external_processes.size(), 2u);
  EXPECT_EQ(table.External(0), 2 * kGiB);
  table.at(0).detached[11] = kGiB;
  Observe(table, readings, {10});
  EXPECT_EQ(table.External(0), kGiB) << "accounted as detached, not twice";
  Observe(table, {ReadingOf({})});
  EXPECT_EQ(table.at(0).external_processes.size(), 0u);
}

TEST(GpuTable, ExternalMemoryIsKeptWithoutProcessList) {
  Settings settings;
  GpuTable table(settings);
  table.Register(UuidOf(1), kCard);
  Observe(table, {ReadingOf({{11, 2 * kGiB}})});
  Observe(table, {});
  EXPECT_EQ(table.External(0), 2 * kGiB);
  EXPECT_FALSE(table.at(0).used) << "no stale reading";
  auto unresponsive = ReadingOf({});
  unresponsive.processes.reset();
  Observe(table, {unresponsive});
  EXPECT_EQ(table.External(0), 2 * kGiB);
  table.Observe(std::vector{ReadingOf({{11, 3 * kGiB}})}, {}, {});
  EXPECT_EQ(table.External(0), 3 * kGiB) << "already seen in the previous reading";
}

TEST(GpuTable, ExternalMemoryBesideSmallBudgetIsIgnored) {
  Settings settings;
  settings.gpu_budget = 20 * kGiB;
  GpuTable table(settings);
  table.Register(UuidOf(1), kCard);
  Observe(table, {ReadingOf({{11, 3 * kGiB}})});
  EXPECT_EQ(table.External(0), 0u);
  Observe(table, {ReadingOf({{11, 5 * kGiB}})});
  EXPECT_EQ(table.External(0), kGiB + 512 * kMiB) << "exceeds the 3.5 GiB beside the budget";
}

TEST(GpuTable, UnknownProcessCountsFromSecondReading) {
  Settings settings;
  GpuTable table(settings);
  table.Register(UuidOf(1), kCard);
  const std::vector readings = {ReadingOf({{11, kGiB}})};
  table.Observe(readings, {}, {});
  EXPECT_EQ(table.External(0), 0u);
  table.Observe(std::vector{ReadingOf({{12, kGiB}})}, {}, {});
  EXPECT_EQ(table.External(0), 0u);
  table.Observe(std::vector{ReadingOf({{12, kGiB}})}, {}, {});
  EXPECT_EQ(table.External(0), kGiB);
  table.Observe(std::vector{ReadingOf({{12, kGiB}})}, {12}, {});
  EXPECT_EQ(table.External(0), 0u) << "a client whose context does not exist yet";
}

TEST(GpuTable, IgnoresReadingsOfOtherPidNamespace) {
  Settings settings;
  GpuTable table(settings);
  table.Register(UuidOf(1), kCard);
  Observe(table, {ReadingOf({{99, 3 * kGiB}})}, {10});
  EXPECT_EQ(table.External(0), 0u) << "ours is not in the list: it counts in another namespace";
}

}  // namespace gpus_test
}  // namespace reveza::daemon

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "phi/run/run_measures.h"
#include "phi/run/settings.h"

namespace reveza::phi {
namespace run_memory_test {

RunSettings Settings(std::string_view measures) {
  RunSettings settings;
  settings.engine.constants.dimension = 64;
  settings.engine.runs = 1000;
  settings.cycles = 1'000'000;
  EXPECT_TRUE(SetMeasures(measures, settings));
  EXPECT_TRUE(Prepare(settings));
  return settings;
}

std::string Refusal(const RunSettings& settings, Bytes engine) {
  const auto refused = CheckMemory(settings, engine, kMiB);
  EXPECT_FALSE(refused.has_value());
  if (refused) return "";
  EXPECT_EQ(refused.error().code, Error::Code::kExhausted);
  return refused.error().message;
}

TEST(RunMemoryTest, CountsRetainedSamples) {
  RunSettings settings = Settings("si");
  settings.window = 5000;
  // Four windows of six means and six first elements, as doubles.
  const Bytes rows = Bytes{4} * 5000 * 96;
  EXPECT_GE(MemoryOf(settings).measures, 1000 * rows);
  EXPECT_LT(MemoryOf(settings).measures, 1000 * (rows + rows / 10));
  // At most one sample per cycle.
  settings.cycles = 100;
  EXPECT_LT(MemoryOf(settings).measures, Bytes{1000} * (100 * 96 + 2 * kKiB));
  // A checkpoint has the last window of each, and the text of all.
  settings.cycles = 1'000'000;
  settings.folder = "kept";
  EXPECT_GE(MemoryOf(settings).measures, 1000 * (rows + Bytes{2} * 5000 * sizeof(CycleSample)));
  EXPECT_EQ(MemoryOf(Settings("none")).measures, 0U);
  EXPECT_GE(MemoryOf(Settings("phi_legacy")).measures,
            1000 * (4 * RunMeasures::RetainedSamples(Settings("phi_legacy")) * 96 + 3200));
}

TEST(RunMemoryTest, CountsUnwrittenParquetRows) {
  RunSettings settings = Settings("none");
  settings.folder = "kept";
  settings.checkpoint_every = 10'000;
  const Bytes text = MemoryOf(settings).rows;
  settings.format = RowFormat::kParquet;
  // run, cycle, hash and nine numbers, at least twice: as they wait and as they are encoded.
  EXPECT_GE(MemoryOf(settings).rows, text + Bytes{2} * 1000 * 10'000 * 56);
  // Fewer cycles have fewer rows.
  settings.cycles = 10;
  EXPECT_LT(MemoryOf(settings).rows, Bytes{1000} * 10 * 4096);
}

TEST(RunMemoryTest, ReportsBreakdownAndRemedy) {
  RunSettings settings = Settings("si");
  EXPECT_TRUE(CheckMemory(settings, 0, std::nullopt));
  EXPECT_TRUE(CheckMemory(settings, 0, 100 * kGiB));
  EXPECT_FALSE(CheckMemory(settings, 100 * kGiB, 100 * kGiB));
  EXPECT_NE(Refusal(settings, 7 * kGiB).find("(cycles 7 GiB, copies of states "), std::string::npos)
      << Refusal(settings, 7 * kGiB);
  EXPECT_TRUE(Refusal(settings, 7 * kGiB).ends_with("--runs, or a lower --dimension"));
  EXPECT_NE(Refusal(Settings("phi_legacy"), 7 * kGiB).find("--measure without phi_legacy"),
            std::string::npos);
  settings.window = 50'000;
  EXPECT_TRUE(Refusal(settings, 0).ends_with("or a shorter --window"));
  settings.folder = "kept";
  settings.format = RowFormat::kParquet;
  settings.checkpoint_every = 1'000'000;
  EXPECT_TRUE(Refusal(settings, 0).ends_with("or a lower --checkpoint-every"));
}

TEST(RunMemoryTest, SaturatesOnOverflow) {
  RunSettings settings = Settings("all");
  settings.engine.runs = std::numeric_limits<int>::max();
  settings.cycles = 0xffffffff;
  settings.checkpoint_every = std::uint64_t{1} << 40;
  settings.folder = "kept";
  settings.format = RowFormat::kParquet;
  EXPECT_EQ(MemoryOf(settings).rows, std::numeric_limits<Bytes>::max());
  EXPECT_FALSE(CheckMemory(settings, 1, std::numeric_limits<Bytes>::max() - 1));
}

}  // namespace run_memory_test
}  // namespace reveza::phi

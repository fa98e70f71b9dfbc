#include "phi/run/runner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/platform/testing_directory.h"
#include "common/table/arrow.h"
#include "phi/cycles/engine.h"

namespace reveza::phi {
namespace runner_test {

std::string ToText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

RunSettings Settings(const std::filesystem::path& folder) {
  RunSettings settings;
  settings.engine.constants.dimension = 12;
  settings.engine.constants.feedback = 0.5F;
  settings.engine.runs = 3;
  settings.cycles = 70;
  settings.folder = folder;
  settings.checkpoint_every = 9;
  EXPECT_TRUE(SetMeasures("phi_legacy,si", settings));
  settings.window = 20;
  settings.every = 7;
  EXPECT_TRUE(Prepare(settings));
  return settings;
}

Result<RunOutcome> RunWith(const RunSettings& settings, int threads, const RunEvents& events) {
  auto engine = MakeCpuEngine(settings.engine, {.threads = threads});
  if (!engine) return std::unexpected(engine.error());
  return Run(settings, **engine, "1.2.3", threads, events);
}

// Stops at the first check after `cycles` cycles.
RunEvents StopAfter(std::uint64_t cycles, std::uint64_t& seen) {
  RunEvents events;
  events.progress = [&seen](const RunProgress& now) { seen = now.cycle; };
  events.stop = [&seen, cycles] { return seen >= cycles; };
  return events;
}

TEST(Runner, InterruptionsDoNotChangeRows) {
  const platform::TestingDirectory folder;
  const auto right = RunWith(Settings(folder / "right"), 1, {});
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_TRUE(right->finished);
  for (const std::uint64_t pause : {1U, 9U, 14U, 60U}) {
    const RunSettings settings = Settings(folder / fmt::format("pause-{}", pause));
    std::uint64_t seen = 0;
    const auto first = RunWith(settings, 2, StopAfter(pause, seen));
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_FALSE(first->finished);
    EXPECT_GE(first->cycle, pause);
    // As left by a process killed while writing.
    const auto checkpoint = settings.folder / ".checkpoint.0.partial";
    const auto summary = settings.folder / ".summary.json.0.partial";
    std::ofstream(checkpoint) << "half";
    std::ofstream(summary) << "half";
    const auto second = RunWith(settings, 3, {});
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_TRUE(second->finished);
    EXPECT_EQ(second->begun, first->cycle);
    EXPECT_FALSE(std::filesystem::exists(checkpoint));
    EXPECT_FALSE(std::filesystem::exists(summary));
    EXPECT_EQ(second->hashes, right->hashes);
    EXPECT_EQ(second->measures[1].sum, right->measures[1].sum);
    EXPECT_TRUE(first->nulls.empty());
    ASSERT_TRUE(second->nulls.at(0));
    EXPECT_EQ(second->nulls[0]->null_mean, right->nulls[0]->null_mean);
    EXPECT_EQ(ToText(settings.folder / "rows.csv"), ToText(folder / "right" / "rows.csv"));
  }
}

// Fails when asked to advance.
class FailingEngine final : public CycleEngine {
 public:
  std::string name() const override { return "dead"; }
  Status Advance(int /*cycles*/, std::span<Observation> /*observations*/) override {
    return Fail(Error::Code::kUnavailable, "it is dead");
  }
  Status CopyState(BatchState& /*to*/) const override { return {}; }
  Status SetState(const BatchState& /*from*/) override { return {}; }
};

TEST(Runner, RestartsAfterDeathBeforeFirstCheckpoint) {
  const platform::TestingDirectory folder;
  const RunSettings settings = Settings(folder / "dead");
  FailingEngine dead;
  ASSERT_FALSE(phi::Run(settings, dead, "1.2.3", 1, {}));
  std::ofstream(settings.folder / "rows.csv", std::ios::app) << "run,cycle,hash,rows that it wrote";
  const auto again = RunWith(settings, 1, {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->begun, 0U);
  ASSERT_TRUE(RunWith(Settings(folder / "right"), 1, {}));
  EXPECT_EQ(ToText(settings.folder / "rows.csv"), ToText(folder / "right" / "rows.csv"));
}

TEST(Runner, RejectsRowsWithoutCheckpoint) {
  const platform::TestingDirectory folder;
  RunSettings settings = Settings(folder.path());
  std::ofstream(folder / "rows.csv") << "precious";
  const auto refused = RunWith(settings, 1, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kIncompatible);
  EXPECT_NE(refused.error().message.find("--fresh"), std::string::npos);
  EXPECT_EQ(ToText(folder / "rows.csv"), "precious");
  EXPECT_FALSE(std::filesystem::exists(CheckpointPath(settings.folder)));
  settings.fresh = true;
  ASSERT_TRUE(RunWith(settings, 1, {}));
  EXPECT_TRUE(ToText(folder / "rows.csv").starts_with("run,cycle,hash,"));
}

TEST(Runner, FreshRemovesOtherFormats) {
  if (!kHaveArrow) GTEST_SKIP() << "this build has no Arrow";
  const platform::TestingDirectory folder;
  RunSettings settings = Settings(folder.path());
  std::uint64_t seen = 0;
  ASSERT_TRUE(RunWith(settings, 1, StopAfter(30, seen)));
  settings.format = RowFormat::kParquet;
  settings.fresh = true;
  seen = 0;
  ASSERT_TRUE(RunWith(settings, 1, StopAfter(30, seen)));
  EXPECT_FALSE(std::filesystem::exists(folder / "rows.csv"));
  settings.fresh = false;
  const auto on = RunWith(settings, 1, {});
  ASSERT_TRUE(on) << on.error().message;
  EXPECT_GT(on->begun, 0U);
}

TEST(Runner, TruncatesRowsAfterTheCheckpoint) {
  const platform::TestingDirectory folder;
  const RunSettings settings = Settings(folder.path());
  std::uint64_t seen = 0;
  ASSERT_TRUE(RunWith(settings, 1, StopAfter(30, seen)));
  // Longer than what the remaining cycles overwrite.
  std::ofstream(folder / "rows.csv", std::ios::app)
      << "0,31,what a dead program left" << std::string(100'000, '\n');
  ASSERT_TRUE(RunWith(settings, 1, {}));
  const RunSettings other = Settings(folder / "right");
  ASSERT_TRUE(RunWith(other, 1, {}));
  EXPECT_EQ(ToText(folder / "rows.csv"), ToText(other.folder / "rows.csv"));
}

TEST(Runner, ReportsCyclesOnceDurable) {
  const platform::TestingDirectory folder;
  const RunSettings settings = Settings(folder.path());
  std::vector<std::uint64_t> told;
  std::uint64_t seen = 0;
  RunEvents events = StopAfter(31, seen);
  events.committed = [&](const CycleMeans& means) {
    const auto kept = LoadCheckpoint(settings);
    ASSERT_TRUE(kept && *kept);
    EXPECT_GE((*kept)->state.cycle, means.cycle);
    told.push_back(means.cycle);
  };
  const auto first = RunWith(settings, 1, events);
  ASSERT_TRUE(first);
  ASSERT_EQ(told.size(), first->cycle);
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], i + 1);
  // Cycles that may not have been reported are reported again.
  told.clear();
  events.stop = {};
  ASSERT_TRUE(RunWith(settings, 1, events));
  EXPECT_LE(told.front(), first->cycle);
  EXPECT_EQ(told.back(), 70U);
  for (std::size_t i = 1; i < told.size(); ++i) EXPECT_EQ(told[i], told[i - 1] + 1);
}

TEST(Runner, ExtendsAFinishedRun) {
  const platform::TestingDirectory folder;
  RunSettings settings = Settings(folder / "long");
  settings.cycles = 40;
  ASSERT_TRUE(RunWith(settings, 1, {}));
  settings.cycles = 70;
  const auto second = RunWith(settings, 1, {});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->begun, 40U);
  EXPECT_EQ(second->hashes, RunWith(Settings(folder / "right"), 1, {})->hashes);
  settings.cycles = 50;
  const auto back = RunWith(settings, 1, {});
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Error::Code::kIncompatible);
  settings.fresh = true;
  EXPECT_EQ(RunWith(settings, 1, {})->begun, 0U);
}

TEST(Runner, SummaryMatchesRows) {
  const platform::TestingDirectory folder;
  const RunSettings settings = Settings(folder.path());
  ASSERT_TRUE(RunWith(settings, 1, {}));
  const auto summary = nlohmann::json::parse(ToText(folder / "summary.json"));
  EXPECT_EQ(summary["version"], "1.2.3");
  EXPECT_EQ(summary["cycles"], 70);
  EXPECT_TRUE(summary["finished"]);
  EXPECT_EQ(summary["hashes"].size(), 3U);
  double sum = 0;
  double final_sum = 0;
  int count = 0;
  std::ifstream rows(folder / "rows.csv");
  std::string line;
  std::getline(rows, line);
  EXPECT_TRUE(line.ends_with("rho_u_norm,phi_legacy,si")) << line;
  while (std::getline(rows, line)) {
    const std::string text = line.substr(line.rfind(',') + 1);
    if (text.empty()) continue;
    sum += std::stod(text);
    ++count;
    if (line.substr(line.find(',')).starts_with(",70,")) final_sum += std::stod(text);
  }
  const auto& si = summary["measures"]["si"];
  EXPECT_EQ(si["count"], count);
  EXPECT_EQ(count, 3 * 8);
  EXPECT_NEAR(si["mean"].get<double>(), sum / count, 1e-12);
  EXPECT_NEAR(si["final"].get<double>(), final_sum / 3, 1e-12);
  EXPECT_LE(si["min"].get<double>(), si["mean"].get<double>());
  EXPECT_GT(si["null"]["mean"].get<double>(), 0);
  EXPECT_GT(si["null"]["high"].get<double>(), si["null"]["mean"].get<double>());
}

TEST(Runner, FolderIsExclusive) {
  const platform::TestingDirectory folder;
  const RunSettings settings = Settings(folder.path());
  RunEvents events;
  bool asked = false;
  events.stop = [&] {
    if (!asked) {
      asked = true;
      const auto other = RunWith(settings, 1, {});
      EXPECT_FALSE(other.has_value());
      EXPECT_EQ(other.error().code, Error::Code::kUnavailable);
    }
    return false;
  };
  ASSERT_TRUE(RunWith(settings, 1, events));
  EXPECT_TRUE(asked);
}

}  // namespace runner_test
}  // namespace reveza::phi

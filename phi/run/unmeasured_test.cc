// Windows that cannot be measured leave cells empty and do not end the run.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/platform/testing_directory.h"
#include "phi/cycles/engine.h"
#include "phi/run/run_measures.h"
#include "phi/run/runner.h"

namespace reveza::phi {
namespace unmeasured_test {

// The CPU engine, except that one module of the second run is constant for a while.
class FlatEngine final : public CycleEngine {
 public:
  static constexpr std::uint64_t kMovesAfter = 45;

  FlatEngine(std::unique_ptr<CycleEngine> engine, int runs)
      : engine_(std::move(engine)), runs_(static_cast<std::size_t>(runs)) {}

  std::string name() const override { return "flat"; }
  Status Advance(int cycles, std::span<Observation> observations) override {
    auto done = engine_->Advance(cycles, observations);
    for (std::size_t i = 0; i < static_cast<std::size_t>(cycles); ++i) {
      if (++cycle_ <= kMovesAfter) observations[i * runs_ + 1].mean[2] = 0.5F;
    }
    return done;
  }
  Status CopyState(BatchState& to) const override { return engine_->CopyState(to); }
  Status SetState(const BatchState& from) override {
    cycle_ = from.cycle;
    return engine_->SetState(from);
  }

 private:
  std::unique_ptr<CycleEngine> engine_;
  std::size_t runs_;
  std::uint64_t cycle_ = 0;
};

RunSettings Settings(const std::filesystem::path& folder) {
  RunSettings settings;
  settings.engine.constants.dimension = 12;
  settings.engine.constants.feedback = 0.5F;
  settings.engine.runs = 3;
  settings.engine.first_run = 5;
  settings.cycles = 70;
  settings.folder = folder;
  settings.checkpoint_every = 9;
  EXPECT_TRUE(SetMeasures("phi_legacy,si,phi_g", settings));
  settings.window = 20;
  settings.every = 7;
  EXPECT_TRUE(Prepare(settings));
  return settings;
}

Result<RunOutcome> RunFlat(const RunSettings& settings, int threads, const RunEvents& events) {
  auto engine = MakeCpuEngine(settings.engine, {.threads = threads});
  if (!engine) return std::unexpected(engine.error());
  FlatEngine flat(std::move(*engine), settings.engine.runs);
  return Run(settings, flat, "1.2.3", threads, events);
}

std::string ToText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In the windows of 20 cycles that end at 21, 28, 35 and 42 the module is constant.
void ExpectFourEmptyCells(const RunOutcome& outcome) {
  EXPECT_EQ(outcome.measures[0].unmeasured, 0U);
  for (const std::size_t measure : {1U, 2U}) {
    EXPECT_EQ(outcome.measures[measure].unmeasured, 4U);
    EXPECT_EQ(outcome.measures[measure].count, 3U * 8U - 4U);
    EXPECT_GT(outcome.measures[measure].min, 0.0);
  }
  ASSERT_TRUE(outcome.unmeasured);
  EXPECT_EQ(outcome.unmeasured->run, 6U);
  EXPECT_EQ(outcome.unmeasured->cycle, 21U);
  EXPECT_EQ(outcome.unmeasured->why, "variable 2 is constant (0.5)");
}

TEST(Unmeasured, LeavesEmptyCellsAndIsCounted) {
  const platform::TestingDirectory folder;
  const auto outcome = RunFlat(Settings(folder.path()), 2, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->finished);
  ExpectFourEmptyCells(*outcome);
  const std::string notice = UnmeasuredText(Settings(folder.path()), *outcome);
  for (const char* fact : {"4 of 24 of si, 4 of 24 of phi_g", "run 6 up to cycle 21",
                           "variable 2 is constant (0.5)", "--window"}) {
    EXPECT_TRUE(notice.contains(fact)) << notice;
  }
  const std::string text = MeasuresText(Settings(folder.path()), *outcome);
  EXPECT_TRUE(text.contains("\nsi           min ")) << text;
  const auto summary = nlohmann::json::parse(ToText(folder / "summary.json"));
  EXPECT_EQ(summary["measures"]["si"]["unmeasured"], 4);
  EXPECT_EQ(summary["measures"]["phi_legacy"]["unmeasured"], 0);
  EXPECT_EQ(summary["first_unmeasured"]["run"], 6);
  EXPECT_EQ(summary["first_unmeasured"]["cycle"], 21);
  std::ifstream rows(folder / "rows.csv");
  int empty = 0;
  for (std::string line; std::getline(rows, line);) {
    if (!line.starts_with("6,28,")) continue;
    EXPECT_TRUE(line.ends_with(",,")) << line;
    ++empty;
  }
  EXPECT_EQ(empty, 1);
}

TEST(Unmeasured, IsCountedOnceAcrossResume) {
  const platform::TestingDirectory folder;
  const auto right = RunFlat(Settings(folder / "right"), 1, {});
  ASSERT_TRUE(right);
  const RunSettings settings = Settings(folder / "paused");
  std::uint64_t seen = 0;
  RunEvents events;
  events.progress = [&seen](const RunProgress& now) { seen = now.cycle; };
  events.stop = [&seen] { return seen >= 30; };
  const auto first = RunFlat(settings, 1, events);
  ASSERT_TRUE(first);
  ASSERT_LT(first->cycle, 70U);
  const auto second = RunFlat(settings, 2, {});
  ASSERT_TRUE(second) << second.error().message;
  ExpectFourEmptyCells(*second);
  EXPECT_EQ(second->hashes, right->hashes);
  EXPECT_EQ(ToText(settings.folder / "rows.csv"), ToText(folder / "right" / "rows.csv"));
}

TEST(Unmeasured, DiffersFromNotYetDue) {
  const platform::TestingDirectory folder;
  const RunSettings settings = Settings(folder.path());
  RunOutcome outcome;
  outcome.measures.resize(3);
  outcome.measures[1].unmeasured = 2;
  EXPECT_EQ(
      MeasuresText(settings, outcome),
      "phi_legacy   not measured yet: needs 10 cycles\n"
      "si           no value\n"
      "phi_g        not measured yet: needs 21 cycles, because windows of 20 end at multiples "
      "of --every 7\n");
  RunSettings often = settings;
  often.every = 5;
  EXPECT_NE(MeasuresText(often, outcome).find("needs 20 cycles\n"), std::string::npos);
}

TEST(Unmeasured, IsEmptyIfAllIsMeasured) {
  const platform::TestingDirectory folder;
  const RunSettings settings = Settings(folder.path());
  auto engine = MakeCpuEngine(settings.engine, {});
  ASSERT_TRUE(engine);
  const auto outcome = phi::Run(settings, **engine, "1.2.3", 1, {});
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->unmeasured);
  EXPECT_EQ(UnmeasuredText(settings, *outcome), "");
  EXPECT_EQ(outcome->measures[1].unmeasured, 0U);
  EXPECT_TRUE(nlohmann::json::parse(ToText(folder / "summary.json"))["first_unmeasured"].is_null());
}

}  // namespace unmeasured_test
}  // namespace reveza::phi

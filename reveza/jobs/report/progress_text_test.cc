#include "reveza/jobs/report/progress_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace reveza::jobs {
namespace progress_text_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

NamedSummary Measured(std::string name, double min, double mean, double max, double final) {
  return {std::move(name), {.count = 9, .min = min, .mean = mean, .max = max, .final = final}};
}

Progress Middle() {
  Progress progress;
  progress.name = "simulate-4f2a90c1";
  progress.steps = 500;
  progress.done = 213;
  progress.done_before = 57;
  progress.failed = 3;
  progress.running = 3;
  progress.waiting = 281;
  progress.workers = 3;
  progress.elapsed = seconds(36);
  progress.rate = 5.917;
  progress.remaining = RemainingTime{seconds(49), seconds(62)};
  return progress;
}

std::string Lines(const Progress& progress) {
  std::string text = "\n";
  for (const std::string& line : ProgressLines(progress)) text += line + "\n";
  return text;
}

std::size_t Width(std::string_view line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(ProgressLines, ShowBarCountsAndRemainingTime) {
  EXPECT_EQ(Lines(Middle()), R"(
simulate-4f2a90c1 ━━━━━━━━━━━━━━━━━━━╳───────────────────────── 213 of 500, 42 %
  3 running (of 3), 281 waiting, 3 failed, 5.9 steps/s, 49 s to 1 min 2 s left
)");
}

TEST(ProgressLines, CountCyclesIfAllStepsHaveThem) {
  Progress progress;
  progress.name = "seed";
  progress.steps = 1;
  progress.running = 1;
  progress.cycles = 60;
  progress.cycles_done = 24;
  progress.columns = 50;
  EXPECT_EQ(ProgressLines(progress)[0], "seed ━━━━━━───────── 0 of 1, 24 of 60 cycles, 40 %");
  EXPECT_EQ(ProgressLine(progress), "seed: 0 of 1 done, 24 of 60 cycles, 1 running");
  EXPECT_EQ(ProgressJson(progress)["cycles"]["done"], 24);
  // Not everything is done before the steps have ended.
  progress.cycles_done = 60;
  EXPECT_TRUE(ProgressLines(progress)[0].ends_with("60 of 60 cycles, 99 %"));
  progress.done = 1;
  EXPECT_TRUE(ProgressLines(progress)[0].ends_with("60 of 60 cycles, 100 %"));
  progress.cycles = 0;
  EXPECT_TRUE(ProgressJson(progress)["cycles"].is_null());
}

TEST(ProgressLines, ShowWaitingReasonAndMetrics) {
  Progress progress = Middle();
  progress.waiting_reason = "memory: 2.1 GiB free, 0.5 GiB reserved, the step needs 3 GiB";
  progress.remaining->p90 = seconds(55);
  progress.metrics = {Measured("phi", 0.42, 0.58, 0.77, 0.61),
                      Measured("loss", 0.001, 0.0123456, 1, 0.001)};
  EXPECT_EQ(Lines(progress), R"(
simulate-4f2a90c1 ━━━━━━━━━━━━━━━━━━━╳───────────────────────── 213 of 500, 42 %
  3 running (of 3), 281 waiting, 3 failed, 5.9 steps/s, 49 s to 55 s left
  waits for memory: 2.1 GiB free, 0.5 GiB reserved, the step needs 3 GiB
  phi 0.61 (min 0.42, mean 0.58, max 0.77)
  loss 0.001 (min 0.001, mean 0.01235, max 1)
)");
}

TEST(ProgressLines, OmitUnknownValues) {
  Progress progress;
  progress.name = "job";
  progress.steps = 10;
  progress.columns = 40;
  EXPECT_EQ(Lines(progress), R"(
job ─────────────────────── 0 of 10, 0 %
  0 running
)");
  progress.done = 10;
  EXPECT_EQ(Lines(progress), R"(
job ━━━━━━━━━━━━━━━━━━━━ 10 of 10, 100 %
  0 running
)");
}

TEST(ProgressLines, UseColourOnRequest) {
  Progress progress = Middle();
  progress.columns = 60;
  progress.colour = true;
  EXPECT_EQ(
      ProgressLines(progress)[0],
      "simulate-4f2a90c1 \x1b[32m━━━━━━━━━━\x1b[0m\x1b[31m╳\x1b[0m\x1b[2m──────────────\x1b[0m "
      "213 of 500, 42 %");
}

TEST(ProgressLines, FitAnyWidth) {
  Progress progress = Middle();
  progress.name = "a-long-name-with-é-and-more-than-a-third-of-the-line";
  progress.waiting_reason = std::string(300, 'x');
  for (int i = 0; i < 30; ++i) {
    progress.metrics.push_back(Measured("metric" + std::to_string(i), 0, 0.1234567, 1e20, -1));
  }
  for (std::size_t columns = 20; columns < 250; ++columns) {
    progress.columns = columns;
    const auto lines = ProgressLines(progress);
    EXPECT_LE(lines.size(), 6);
    for (const std::string& line : lines) EXPECT_LE(Width(line), columns) << line;
    if (columns >= 40) {
      EXPECT_NE(lines.back().find("more"), std::string::npos) << lines.back();
    }
  }
  progress.columns = 0;  // unknown
  EXPECT_LE(Width(ProgressLines(progress)[0]), 20);
}

TEST(ProgressLines, ShowSingleFailureAndRoundDown) {
  Progress progress;
  progress.steps = 100000;
  progress.done = 99999;
  progress.failed = 1;
  const std::string bar = ProgressLines(progress)[0];
  EXPECT_NE(bar.find("╳"), std::string::npos) << bar;
  EXPECT_NE(bar.find(" 99 %"), std::string::npos) << bar;
  progress.done = 100000;
  progress.failed = 0;
  EXPECT_NE(ProgressLines(progress)[0].find(" 100 %"), std::string::npos);
  progress.steps = 0;
  progress.done = 0;
  EXPECT_NE(ProgressLines(progress)[0].find(" 0 %"), std::string::npos);
}

TEST(ProgressLines, SanitizeControlCharacters) {
  Progress progress = Middle();
  progress.name = "a\x1b[2Jb\nc";
  progress.waiting_reason = "x\ry";
  for (const std::string& line : ProgressLines(progress)) {
    EXPECT_EQ(std::ranges::count_if(line, [](char c) { return c >= 0 && c < 0x20; }), 0) << line;
  }
}

TEST(ProgressLine, HasAllParts) {
  Progress progress = Middle();
  EXPECT_EQ(ProgressLine(progress),
            "simulate-4f2a90c1: 213 of 500 done, 3 running (of 3), 281 waiting, 3 failed, "
            "5.9 steps/s, 49 s to 1 min 2 s left, after 36 s, 57 done earlier");
  progress.metrics = {Measured("phi", 0.42, 0.58, 0.77, 0.61)};
  progress.waiting_reason = "CPU: 2 of 2 cores in use";
  EXPECT_EQ(ProgressLine(progress),
            "simulate-4f2a90c1: 213 of 500 done, 3 running (of 3), 281 waiting, 3 failed, "
            "5.9 steps/s, 49 s to 1 min 2 s left, after 36 s, 57 done earlier, phi 0.61 (min 0.42, "
            "mean 0.58, max 0.77); waits for CPU: 2 of 2 cores "
            "in use");
}

using nlohmann::json;

TEST(ProgressJsonTest, HasAllFields) {
  Progress progress;
  progress.steps = 10;
  progress.done = 4;
  progress.failed = 1;
  progress.running = 2;
  progress.waiting = 3;
  progress.waiting_reason = "memory";
  progress.elapsed = seconds(8);
  progress.rate = 0.5;
  progress.remaining = {seconds(6), seconds(9)};
  MetricSummary phi;
  phi.Add(1, 0.25);
  phi.Add(2, 0.75);
  progress.metrics = {{"phi", phi}};
  EXPECT_EQ(ProgressJson(progress),
            json::parse(
                R"({"steps": 10, "done": 4, "failed": 1, "cycles": null, "running": 2, "waiting": 3,
                            "reason": "memory", "elapsed": 8.0, "rate": 0.5,
                            "eta": {"p50": 6.0, "p90": 9.0},
                            "metrics": {"phi": {"count": 2, "min": 0.25, "mean": 0.5,
                                                "max": 0.75, "final": 0.75}}})"));
}

TEST(ProgressJsonTest, UnknownFieldsAreNull) {
  const json empty = ProgressJson({});
  for (const char* key : {"reason", "rate", "eta"}) {
    EXPECT_TRUE(empty.at(key).is_null()) << key;
  }
  EXPECT_EQ(empty.at("metrics"), json::object());
}

TEST(Joblog, HasGnuParallelColumns) {
  EXPECT_EQ(JoblogHeader(),
            "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n");
  EXPECT_EQ(JoblogLine({.number = 7,
                        .start = std::chrono::system_clock::time_point(milliseconds(1700000000123)),
                        .duration = milliseconds(1532),
                        .received = 12,
                        .exit_status = 3,
                        .command = "./simulate --seed 7"}),
            "7\t:\t1700000000.123\t     1.532\t0\t12\t3\t0\t./simulate --seed 7\n");
}

TEST(Joblog, EscapesControlCharacters) {
  const std::string line = JoblogLine({.signal = 9, .command = "a\tb\nc\rd\x7f é"});
  EXPECT_TRUE(line.ends_with("\t9\ta\\tb\\nc\\x0dd\\x7f é\n")) << line;
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_EQ(std::ranges::count(line, '\t'), 8);
}

TEST(EscapeControls, WritesControlsOfAllKinds) {
  EXPECT_EQ(EscapeControls("a\tb\nc\x1b[31m\x7f"), "a\\tb\\nc\\x1b[31m\\x7f");
  EXPECT_EQ(EscapeControls("\xc2\x9b"
                           "31m"),
            "\\xc2\\x9b31m")
      << "CSI in UTF-8";
  EXPECT_EQ(EscapeControls("é ç \xc2\xa0 \xc2"), "é ç \xc2\xa0 \xc2");
}

TEST(RemainingFromJson, ReadsWhatEtaJsonWrites) {
  const RemainingTime remaining{std::chrono::seconds(60), std::chrono::seconds(75)};
  EXPECT_EQ(RemainingFromJson(EtaJson(remaining)), remaining);
}

}  // namespace progress_text_test
}  // namespace reveza::jobs

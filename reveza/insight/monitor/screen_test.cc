#include "reveza/insight/monitor/screen.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "reveza/insight/monitor/testing_snapshot.h"

namespace reveza::monitor {
namespace screen_test {

std::string TextOf(const std::vector<Line>& lines) {
  std::string text = "\n";
  for (const Line& line : lines) text += ToUtf8(line) + "\n";
  return text;
}

class Screen : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

History SomeHistory(Snapshot snapshot) {
  History history;
  for (int i = 0; i < 10; ++i) {
    snapshot.machine.cpu = i == 4 ? std::nullopt : std::optional(i / 10.0);
    snapshot.gpus[0].sm_active = 1 - i / 10.0;
    history.Add(snapshot);
  }
  return history;
}

TEST_F(Screen, At80x24) {
  const auto snapshot = TestingSnapshot();
  const auto lines = Draw(snapshot, SomeHistory(snapshot), {80, 24, true}, {});
  EXPECT_EQ(TextOf(lines), R"(
reveza top  14:16:40  revezad 0.1.0, 2 programs, 1 job, 412 processes
CPU  [################----] 78 % of 16 cores  load 12.43 9.08 7.70    ▁▁▂▃ ▅▅▆▇█
     ▁▁▂▂▃▃▄▄ ▅▅▆▆▇▇██
MEM  [###############-----] 96G of 128G  cgroup: 20G left  no swap    ▇▇▇▇▇▇▇▇▇▇
PSI  waiting for cpu 17 %  memory 17 % (all 0 %)  io n/a
GPU0 [###############xx---] 60G of 78G, 24G swapped  SM 37 %  NVIDIA H █▇▆▅▅▄▃▂▁
     link out 21 GB/s, in 20 GB/s; swaps 20 GB/s + 20 GB/s; 12 handovers, 297 ms
     PID NAME                STATE       CPU%   MEM  PEAK CLAIM  THR   GPU  SWAP
    1234 sweep               running      n/a   n/a   n/a   n/a  n/a   n/a   n/a
           56 of 500 done, 2 running, 440 waiting, 2 failed; 2 workers; 1.25
             steps/s; 6 min 40 s to 8 min 40 s left
           waiting for memory: 2.1 GiB are free, a step takes 3.0 GiB
           phi: last 0.61, mean 0.55, min 0.2, max 0.9
    4321   57 seed=57 3/10   running       97  2.8G  3.0G  3.0G    3   n/a   n/a
     n/a   58 seed=58        paused #2    n/a   n/a   n/a   n/a  n/a   n/a   n/a
    7501 ana                 running      102  2.0G  4.0G   n/a   14   42G     0
           weight 2
    7502 bia                 waiting      n/a   n/a   n/a   n/a  n/a   n/a   24G
           waiting for its turn: ana (pid 7501) has the GPU for 2.5 s more
      99 Xorg                outside      n/a   n/a   n/a   n/a  n/a  6.0G   n/a



q quit  s sort  v reverse  / filter  t tree  p pause  r resume  c cancel  ? help
)");
}

TEST_F(Screen, At120x40) {
  const auto snapshot = TestingSnapshot();
  const auto lines = Draw(snapshot, SomeHistory(snapshot), {120, 40, true}, {});
  EXPECT_EQ(lines.size(), 40u);
  std::string text = TextOf(lines);
  text.erase(text.find("\n\n"));
  EXPECT_EQ(text, R"(
reveza top  14:16:40  revezad 0.1.0, 2 programs, 1 job, 412 processes
CPU  [################----] 78 % of 16 cores  load 12.43 9.08 7.70                                            ▁▁▂▃ ▅▅▆▇█
     ▁▁▂▂▃▃▄▄ ▅▅▆▆▇▇██
MEM  [###############-----] 96G of 128G  cgroup: 20G left  no swap                                            ▇▇▇▇▇▇▇▇▇▇
PSI  waiting for cpu 17 %  memory 17 % (all 0 %)  io n/a
GPU0 [###############xx---] 60G of 78G, 24G swapped  SM 37 %  NVIDIA H100                                     ██▇▆▅▅▄▃▂▁
     link out 21 GB/s, in 20 GB/s; swaps 20 GB/s + 20 GB/s; 12 handovers, 297 ms
     PID NAME                     STATE       CPU%   MEM  PEAK CLAIM  THR   GPU  SWAP   AGE  IO/s   SHARE  TURNS  WAITED
    1234 sweep                    running      n/a   n/a   n/a   n/a  n/a   n/a   n/a  3m20   n/a     n/a    n/a     n/a
           56 of 500 done, 2 running, 440 waiting, 2 failed; 2 workers; 1.25 steps/s; 6 min 40 s to 8 min 40 s left
           waiting for memory: 2.1 GiB are free, a step takes 3.0 GiB
           phi: last 0.61, mean 0.55, min 0.2, max 0.9
    4321   57 seed=57 3/10        running       97  2.8G  3.0G  3.0G    3   n/a   n/a  1m40  512K     n/a    n/a     n/a
     n/a   58 seed=58             paused #2    n/a   n/a   n/a   n/a  n/a   n/a   n/a   n/a   n/a     n/a    n/a     n/a
    7501 ana                      running      102  2.0G  4.0G   n/a   14   42G     0   n/a   42M 70/66 %      4      3s
           weight 2
    7502 bia                      waiting      n/a   n/a   n/a   n/a  n/a   n/a   24G   n/a   n/a     n/a      3     n/a
           waiting for its turn: ana (pid 7501) has the GPU for 2.5 s more
      99 Xorg                     outside      n/a   n/a   n/a   n/a  n/a  6.0G   n/a   n/a   n/a     n/a    n/a     n/a)");
}

TEST_F(Screen, WithoutGpusHasTimesAndCommandsInstead) {
  Snapshot snapshot = TestingSnapshot();
  snapshot.gpus.clear();
  snapshot.clients.clear();
  snapshot.outside.clear();
  const std::string narrow = TextOf(Draw(snapshot, {}, {80, 24, false}, {}));
  EXPECT_TRUE(narrow.contains(
      "     PID NAME                STATE       CPU%   MEM  PEAK CLAIM  THR   AGE  IO/s\n"))
      << narrow;
  EXPECT_TRUE(narrow.contains(
      "    4321   57 seed=57 3/10   running       97  2.8G  3.0G  3.0G    3  1m40  512K\n"))
      << narrow;
  const std::string wide = TextOf(Draw(snapshot, {}, {120, 24, false}, {}));
  EXPECT_TRUE(wide.contains(" 3  1m40  512K  ./simulate --seed 57\n")) << wide;
  for (const char* heading : {"SWAP", "SHARE", "TURNS", "WAITED"}) {
    EXPECT_FALSE(wide.contains(heading)) << heading;
  }
}

TEST_F(Screen, CoresBeyondTwoLinesAreCounted) {
  Snapshot snapshot = TestingSnapshot();
  snapshot.machine.each_core.assign(200, 0.5);
  EXPECT_TRUE(TextOf(Draw(snapshot, {}, {80, 24, true}, {})).contains("and 88 more\nMEM"));
  EXPECT_FALSE(TextOf(Draw(snapshot, {}, {80, 0, true}, {})).contains("more\nMEM"));
}

TEST_F(Screen, ShowsUnavailableValuesAsNa) {
  Snapshot snapshot;
  snapshot.notes.push_back("no permission on /run/reveza/revezad.sock");
  const auto lines = Draw(snapshot, {}, {80, 24, false}, {});
  EXPECT_EQ(TextOf(lines), R"(
reveza top  00:00:00  no daemon, 0 jobs
CPU  [--------------------] n/a of n/a cores  load n/a
MEM  [--------------------] n/a
PSI  waiting for cpu n/a  memory n/a  io n/a
GPU  none found
     PID NAME                STATE       CPU%   MEM  PEAK CLAIM  THR   AGE  IO/s
         no programs or jobs















no permission on /run/reveza/revezad.sock
q quit  s sort  v reverse  / filter  t tree  p pause  r resume  c cancel  ? help
)");
}

TEST_F(Screen, FillsTheTerminal) {
  const auto snapshot = TestingSnapshot();
  for (const int width : {1, 20, 40, 79, 80, 200}) {
    for (const int height : {1, 2, 5, 24, 100}) {
      for (const bool help : {false, true}) {
        ViewState state;
        state.help = help;
        const auto lines = Draw(snapshot, SomeHistory(snapshot), {width, height, true}, state);
        ASSERT_EQ(lines.size(), static_cast<std::size_t>(height)) << width;
        for (const Line& line : lines) ASSERT_EQ(line.size(), static_cast<std::size_t>(width));
      }
    }
  }
}

bool Shows(const std::vector<Line>& lines, const std::string& text) {
  return TextOf(lines).find(text) != std::string::npos;
}

TEST_F(Screen, ScrollsToTheSelectedRow) {
  Snapshot snapshot = TestingSnapshot();
  for (std::uint64_t i = 100; i < 150; ++i) {
    Step step;
    step.number = i;
    step.label = "more";
    snapshot.jobs[0].running.push_back(step);
  }
  ViewState state;
  EXPECT_FALSE(Shows(Draw(snapshot, {}, {80, 24, true}, state), "149 more"));
  state.selected = "step sweep-3f2a/149";
  const auto lines = Draw(snapshot, {}, {80, 24, true}, state);
  EXPECT_TRUE(Shows(lines, "149 more"));
  int selected = 0;
  for (const Line& line : lines) selected += line[0].style == Style::kSelected ? 1 : 0;
  EXPECT_EQ(selected, 1);
}

TEST_F(Screen, ManyGpusLeaveRoomForTheTable) {
  Snapshot snapshot = TestingSnapshot();
  for (std::uint64_t i = 1; i < 16; ++i) {
    snapshot.gpus.push_back(TestingGpu());
    snapshot.gpus.back().index = i;
  }
  const auto lines = Draw(snapshot, {}, {80, 24, true}, {});
  EXPECT_TRUE(Shows(lines, "and 8 more GPUs"));
  EXPECT_TRUE(Shows(lines, "sweep"));
}

TEST_F(Screen, HighlightsPeaksNearTheClaim) {
  Snapshot snapshot;
  Job job;
  job.id = "a";
  for (const Bytes peak : {50, 95, 101}) {
    Step step;
    step.number = peak;
    step.peak = peak * kMiB;
    step.claim = 100 * kMiB;
    job.running.push_back(step);
  }
  snapshot.jobs.push_back(job);
  const auto style_of = [&](const std::string& peak) {
    for (const Line& line : Draw(snapshot, {}, {80, 24, true}, {})) {
      const auto at = ToUtf8(line).find(peak + "M  100M");
      if (at != std::string::npos) return line[at].style;
    }
    return Style::kHeading;
  };
  EXPECT_EQ(style_of("50"), Style::kPlain);
  EXPECT_EQ(style_of("95"), Style::kWarning);
  EXPECT_EQ(style_of("101"), Style::kBad);
}

TEST_F(Screen, FooterShowsQuestionFilterAndMessage) {
  ViewState state;
  state.question = "cancel job sweep?";
  EXPECT_TRUE(Shows(Draw({}, {}, {80, 24, true}, state), "cancel job sweep? (y/n)"));
  state = {};
  state.typing_filter = true;
  state.table.filter = "an";
  EXPECT_TRUE(Shows(Draw({}, {}, {80, 24, true}, state), "filter: an_"));
  state = {};
  state.message = "sweep is paused";
  EXPECT_TRUE(Shows(Draw({}, {}, {80, 24, true}, state), "sweep is paused"));
}

TEST(Sparkline, ShowsGapsForMissingValues) {
  const History::Values values = {0.0, std::nullopt, 0.5, 1.0};
  EXPECT_EQ(ToUtf8(Sparkline(values, 6, 1.0, true)), "  ▁ ▅█");
  EXPECT_EQ(ToUtf8(Sparkline(values, 2, 1.0, false)), "=#");
  EXPECT_EQ(ToUtf8(Sparkline({2.0, 4.0}, 2, std::nullopt, true)), "▅█") << "scaled to the maximum";
  EXPECT_EQ(ToUtf8(Sparkline({0.0, 0.0}, 2, std::nullopt, true)), "▁▁");
  EXPECT_EQ(ToUtf8(Sparkline({}, 3, 1.0, true)), "   ");
}

TEST(History, KeepsGapsAndLimitsLength) {
  History history;
  Snapshot snapshot = TestingSnapshot();
  snapshot.machine.cpu.reset();
  history.Add(snapshot);
  snapshot.machine.cpu = 0.5;
  history.Add(snapshot);
  EXPECT_EQ(history.Series("cpu"), (History::Values{std::nullopt, 0.5}));
  EXPECT_EQ(history.Series("memory"), (History::Values{0.75, 0.75}));
  EXPECT_EQ(history.Series("gpu " + snapshot.gpus[0].uuid), (History::Values{0.37, 0.37}));
  EXPECT_EQ(history.Series("link " + snapshot.gpus[0].uuid).back(), 41.5e9);
  EXPECT_EQ(history.Series("job sweep-3f2a").back(), 1.25);
  EXPECT_TRUE(history.Series("nothing").empty());
  for (std::size_t i = 0; i < History::kLength; ++i) history.Add(snapshot);
  EXPECT_EQ(history.Series("cpu").size(), History::kLength);
  EXPECT_EQ(history.Series("cpu").front(), 0.5);
}

TEST(History, LinkFallsBackToSwapTraffic) {
  History history;
  Snapshot snapshot = TestingSnapshot();
  snapshot.gpus[0].link_in.reset();
  history.Add(snapshot);
  EXPECT_EQ(history.Series("link " + snapshot.gpus[0].uuid).back(), 39.5e9);
  snapshot.gpus[0].swap_in.reset();
  history.Add(snapshot);
  EXPECT_EQ(history.Series("link " + snapshot.gpus[0].uuid).back(), std::nullopt);
}

TEST(History, DropsSeriesOfRemovedEntries) {
  History history;
  Snapshot snapshot = TestingSnapshot();
  history.Add(snapshot);
  snapshot.jobs.clear();
  history.Add(snapshot);
  EXPECT_TRUE(history.Series("job sweep-3f2a").empty());
  EXPECT_EQ(history.Series("cpu").size(), 2u);
}

}  // namespace screen_test
}  // namespace reveza::monitor

#include "reveza/cli/reveza/simulate_text.h"

#include <gtest/gtest.h>

namespace reveza::cli {
namespace simulate_text_test {

using simulator::Phase;
using std::chrono::milliseconds;
using std::chrono::seconds;

simulator::Simulation Two() {
  simulator::Simulation simulation;
  simulation.jobs.resize(3);
  for (int i = 0; i < 3; ++i) {
    simulation.jobs[i].name = std::string(1, static_cast<char>('a' + i));
    simulation.jobs[i].ended = seconds(72);
    simulation.jobs[i].finished = i == 0;
  }
  simulation.jobs[2].node = 1;
  simulation.jobs[0].waits = {milliseconds(5), milliseconds(10)};
  simulation.makespan = seconds(72);
  simulation.spans = {{0, Phase::kRuns, seconds(0), seconds(36)},
                      {0, Phase::kWaits, seconds(36), seconds(72)},
                      {1, Phase::kWaits, seconds(0), seconds(35)},
                      {1, Phase::kEnters, seconds(35), seconds(36)},
                      {1, Phase::kRuns, seconds(36), milliseconds(36'400)},
                      {1, Phase::kSleeps, milliseconds(36'400), seconds(72)}};
  return simulation;
}

TEST(SimulateText, DrawsWhatEachJobDidMost) {
  const std::string picture = SimulationPicture(Two());
  const std::string runs(36, '#');
  const std::string waits(36, '.');
  EXPECT_NE(picture.find("a |" + runs + waits + "|\n"), std::string::npos) << picture;
  EXPECT_NE(picture.find("b |" + std::string(35, '.') + "-" + std::string(36, ' ') + "|\n"),
            std::string::npos)
      << picture;
  EXPECT_EQ(picture.find("c |"), std::string::npos) << "it is on another node";
  EXPECT_EQ(SimulationPicture({}), "");
}

TEST(SimulateText, ListsAllJobs) {
  const std::string text = SimulationText(Two());
  EXPECT_NE(text.find("not yet"), std::string::npos);
  EXPECT_NE(text.find("fairness 1.000"), std::string::npos) << text;
  const auto json = SimulationJson(Two());
  EXPECT_EQ(json["jobs"].size(), 3u);
  EXPECT_EQ(json["jobs"][0]["wait_s"]["p99"], 0.01);
  EXPECT_TRUE(json["jobs"][1]["ended_s"].is_null());
}

TEST(SimulateText, TracesTheFirstNode) {
  const auto events = SimulationTrace(Two())["traceEvents"];
  EXPECT_EQ(events.size(), 2u + 5u) << "two names, and what is not sleep";
  EXPECT_EQ(events[2]["name"], "slice");
  EXPECT_EQ(events[2]["dur"], 36e6);
}

}  // namespace simulate_text_test
}  // namespace reveza::cli

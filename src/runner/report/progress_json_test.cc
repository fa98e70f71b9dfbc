#include "runner/report/progress_json.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

using nlohmann::json;
using std::chrono::seconds;

TEST(ProgressJsonTest, SaysAllThatIsKnown) {
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
  progress.drift = 0.06;
  MetricSummary phi;
  phi.Add(1, 0.25);
  phi.Add(2, 0.75);
  progress.metrics = {{"phi", phi}};
  EXPECT_EQ(ProgressJson(progress),
            json::parse(R"({"steps": 10, "done": 4, "failed": 1, "running": 2, "waiting": 3,
                            "reason": "memory", "elapsed": 8.0, "rate": 0.5,
                            "eta": {"p50": 6.0, "p90": 9.0}, "drift": 0.06,
                            "metrics": {"phi": {"count": 2, "min": 0.25, "mean": 0.5,
                                                "max": 0.75, "final": 0.75}}})"));
}

TEST(ProgressJsonTest, WhatIsNotKnownIsNullAndNever0) {
  const json empty = ProgressJson({});
  for (const char* key : {"reason", "rate", "eta", "drift"}) {
    EXPECT_TRUE(empty.at(key).is_null()) << key;
  }
  EXPECT_EQ(empty.at("metrics"), json::object());
}

}  // namespace
}  // namespace reveza::runner

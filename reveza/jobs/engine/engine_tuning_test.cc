// The tuning text of a run.
#include <gtest/gtest.h>

#include <string>

#include "common/platform/clock.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_tuning_test {

// Time passes a hundred times as fast, so that short runs are measured.
class FastClock : public platform::Clock {
 public:
  std::chrono::nanoseconds Now() const override { return real_.Now() * 100; }

 private:
  platform::MonotonicClock real_;
};

class EngineTuningTest : public EngineTest {
 protected:
  EngineTuningTest() {
    prepare_ = [this](EngineParts& parts) { parts.clock = &fast_; };
  }
  static RunRequest AtMost(unsigned workers) {
    RunRequest request;
    request.max_workers = workers;
    request.limits = Limits::kNone;
    return request;
  }
  FastClock fast_;
};

TEST_F(EngineTuningTest, SingleNumberIsALine) {
  const auto summary = Run(Shell("true {n}", 60), AtMost(1));
  EXPECT_TRUE(summary.tuning.starts_with("only one number of workers was measured: 1 ("))
      << summary.tuning;
  EXPECT_NE(summary.tuning.find("\nlimit: --max-workers: 1\n"), std::string::npos)
      << summary.tuning;
}

TEST_F(EngineTuningTest, NoMeasurementsNoText) {
  EXPECT_EQ(Run(Shell("true {n}", 2), AtMost(1)).tuning, "");
}

}  // namespace engine_tuning_test
}  // namespace reveza::jobs

// What a run says of the number of its workers.
#include <gtest/gtest.h>

#include <string>

#include "platform/clock.h"
#include "runner/engine/testing_engine.h"

namespace reveza::runner {
namespace {

// A second passes in ten milliseconds, so that what is short is measured.
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

TEST_F(EngineTuningTest, WhereOneNumberIsAllowedThatIsSaidInALine) {
  const auto summary = Run(Shell("true {n}", 60), AtMost(1));
  EXPECT_TRUE(summary.tuning.starts_with("one number of workers was measured, 1 ("))
      << summary.tuning;
  EXPECT_TRUE(summary.tuning.ends_with("no other, because no more than 1 may run at once\n"))
      << summary.tuning;
}

TEST_F(EngineTuningTest, WhereNoneWasMeasuredNothingIsSaid) {
  EXPECT_EQ(Run(Shell("true {n}", 2), AtMost(1)).tuning, "");
}

}  // namespace
}  // namespace reveza::runner

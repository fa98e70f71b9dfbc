#include "reveza/insight/doctor/activity.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/platform/process_table.h"
#include "common/platform/testing_directory.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace activity_test {

using std::chrono::milliseconds;

TEST(Activity, MeasuresChangesBetweenSamples) {
  ActivitySampler sampler;
  EXPECT_FALSE(sampler.Result());
  const auto second = platform::TicksPerSecond();
  sampler.Add({{1, 'R', 100, 5}, {2, 'S', 0, 10}, {3, 'S', 7, std::nullopt}}, milliseconds(0));
  EXPECT_FALSE(sampler.Result());
  sampler.Add({{1, 'R', 100 + second, 6}, {2, 'R', 0, 300}, {4, 'S', 9, 0}}, milliseconds(2000));
  const auto activity = sampler.Result();
  ASSERT_TRUE(activity);
  EXPECT_EQ(activity->samples, 2u);
  EXPECT_DOUBLE_EQ(activity->runnable, 1.5);
  EXPECT_EQ(activity->busy, 1u);
  EXPECT_EQ(activity->waiting, 1u);
  EXPECT_DOUBLE_EQ(activity->cpus, 0.5);
}

TEST(GilBound, IsOneRunnableThreadWhileManyWait) {
  const Activity bound{.samples = 50, .runnable = 1.1, .busy = 4, .waiting = 4, .cpus = 1.0};
  EXPECT_EQ(DiagnoseGil("x", bound, 8).severity, Severity::kWarning);
  EXPECT_EQ(DiagnoseGil("x", bound, 1).severity, Severity::kFine) << "there is one CPU only";
  Activity crowded = bound;  // on a machine where others are busy
  crowded.busy = 9;
  crowded.runnable = 2.5;
  crowded.cpus = 0.4;
  EXPECT_EQ(DiagnoseGil("x", crowded, 8).severity, Severity::kWarning);
  Activity parallel = bound;
  parallel.runnable = 3.9;
  parallel.cpus = 3.9;
  EXPECT_EQ(DiagnoseGil("x", parallel, 8).severity, Severity::kFine);
  Activity alone = bound;
  alone.waiting = 0;
  EXPECT_EQ(DiagnoseGil("x", alone, 8).severity, Severity::kFine) << "nobody waits for it";
  Activity idle = bound;
  idle.runnable = 0.1;
  EXPECT_EQ(DiagnoseGil("x", idle, 8).severity, Severity::kFine);
  Activity brief = bound;
  brief.samples = 3;
  EXPECT_EQ(DiagnoseGil("x", brief, 8).severity, Severity::kFine);
}

TEST(Oversubscribed, IsMoreThanTwoThreadsPerCpu) {
  Activity activity{.samples = 50, .runnable = 9, .busy = 9, .waiting = 0, .cpus = 4};
  EXPECT_EQ(DiagnoseOversubscription("x", activity, 4).severity, Severity::kWarning);
  EXPECT_EQ(DiagnoseOversubscription("x", activity, 8).severity, Severity::kFine);
}

// Python's own lock, on a real interpreter.
TEST(GilBound, IsDetectedInAThreadedPythonProgram) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execlp(REVEZA_PYTHON, "python3", "-c",
           "import threading, sys\n"
           "def work():\n"
           "    x = 0\n"
           "    while True: x += 1\n"
           "for i in range(8): threading.Thread(target=work, daemon=True).start()\n"
           "sys.stdout.write('go'); sys.stdout.flush()\n"
           "work()\n",
           nullptr);
    _exit(1);
  }
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  const auto activity = WatchThreads(pid);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  ASSERT_TRUE(activity);
  EXPECT_EQ(DiagnoseGil("python", *activity, 2).severity, Severity::kWarning)
      << activity->runnable << " runnable, " << activity->waiting << " waiting, " << activity->cpus
      << " CPUs";
}

}  // namespace activity_test
}  // namespace reveza::doctor

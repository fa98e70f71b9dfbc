#include "reveza/gpu/interpose/job_id.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace reveza::interpose {
namespace job_id_test {

constexpr std::uint64_t kJob = 0xaa;

// Returns what `get` returns in a child process, in a session of its own if `new_session`.
std::uint64_t InChild(bool new_session, const std::function<std::uint64_t()>& get) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    if (new_session) setsid();
    const std::uint64_t result = get();
    _exit(write(ends[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
  }
  std::uint64_t result = 0;
  if (read(ends[0], &result, sizeof(result)) != sizeof(result)) result = 0;
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return result;
}

class JobIdTest : public testing::Test {
 protected:
  // This process is the notebook server.
  void SetUp() override {
    setenv("REVEZA_JOB", "00000000000000aa", 1);
    setenv("JPY_PARENT_PID", std::to_string(getpid()).c_str(), 1);
  }
  void TearDown() override {
    unsetenv("REVEZA_JOB");
    unsetenv("JPY_PARENT_PID");
  }
};

TEST_F(JobIdTest, ProcessesOfARunShareItsJob) {
  unsetenv("JPY_PARENT_PID");
  EXPECT_EQ(JobOfThisProcess(), kJob);
  EXPECT_EQ(InChild(true, JobOfThisProcess), kJob) << "not a kernel: no notebook server";
}

TEST_F(JobIdTest, WithoutARunEachProcessIsAJob) {
  unsetenv("REVEZA_JOB");
  EXPECT_NE(JobOfThisProcess(), InChild(false, JobOfThisProcess));
}

TEST_F(JobIdTest, KernelsAreJobs) {
  const std::uint64_t first = InChild(true, JobOfThisProcess);
  const std::uint64_t second = InChild(true, JobOfThisProcess);
  EXPECT_NE(first, kJob);
  EXPECT_NE(second, kJob);
  EXPECT_NE(first, second);
}

TEST_F(JobIdTest, ProcessesOfAKernelShareItsJob) {
  EXPECT_EQ(InChild(true, [] { return JobOfThisProcess() ^ InChild(false, JobOfThisProcess); }),
            0u);
  EXPECT_NE(InChild(true, [] { return InChild(false, JobOfThisProcess); }), kJob);
}

// Such as workers of a cluster that a cell starts: they may depend on each other.
TEST_F(JobIdTest, SessionsStartedByAKernelBelongToTheRun) {
  EXPECT_EQ(InChild(true, [] { return InChild(true, JobOfThisProcess); }), kJob);
}

TEST_F(JobIdTest, ServerBelongsToTheRun) {
  EXPECT_EQ(JobOfThisProcess(), kJob);
  EXPECT_EQ(InChild(false, JobOfThisProcess), kJob);
}

}  // namespace job_id_test
}  // namespace reveza::interpose

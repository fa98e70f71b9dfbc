#include "reveza/insight/doctor/termination.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "common/base/bytes.h"
#include "common/platform/testing_directory.h"

namespace reveza::doctor {
namespace termination_test {

using platform::TestingDirectory;

Termination Abort() {
  Termination termination;
  termination.command = "train";
  termination.exit_status = 127;
  termination.last_lines = "x\ncannot allocate memory for thread-local data: ABORT\n";
  termination.limits.emplace();
  return termination;
}

TEST(ThreadLocalData, ExplainsAnAddressSpaceLimit) {
  const TestingDirectory root;
  Termination termination = Abort();
  termination.limits->address_space.soft = 8 * kGiB;
  auto finding = ExplainTermination(termination, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kThreadLocalData);
  EXPECT_EQ(finding->severity, Severity::kFatal);
  EXPECT_EQ(finding->confidence, Confidence::kLikely) << "nobody saw how much it used";
  EXPECT_EQ(finding->limit, "RLIMIT_AS = 8 GiB");
  EXPECT_EQ(finding->cause, Id::kAddressSpace);
  termination.use.address_peak = 8 * kGiB - kMiB;
  finding = ExplainTermination(termination, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->confidence, Confidence::kMeasured);
}

TEST(ThreadLocalData, ExplainsTooManyMappings) {
  const TestingDirectory root;
  root.Write("proc/sys/vm/max_map_count", "65530\n");
  Termination termination = Abort();
  termination.maps = 65500;
  termination.limits->address_space.soft = 100 * kGiB;
  termination.use.address_peak = kGiB;
  const auto finding = ExplainTermination(termination, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->limit, "vm.max_map_count = 65530") << "what was reached goes before the rest";
}

TEST(ThreadLocalData, ExplainsTheCommitLimit) {
  const TestingDirectory root;
  root.Write("proc/sys/vm/overcommit_memory", "2\n");
  root.Write("proc/meminfo", "CommitLimit: 1048576 kB\nCommitted_AS: 1040000 kB\n");
  const auto finding = ExplainTermination(Abort(), root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->limit, "CommitLimit = 1 GiB");
  EXPECT_NE(finding->observed.find("(overcommit)"), std::string::npos);
}

TEST(ThreadLocalData, InfersMappingsWithoutOtherLimits) {
  const TestingDirectory root;
  root.Write("proc/sys/vm/max_map_count", "65530\n");
  root.Write("proc/sys/vm/overcommit_memory", "0\n");
  Termination termination = Abort();
  auto finding = ExplainTermination(termination, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->confidence, Confidence::kLikely) << "nobody has counted them";
  EXPECT_EQ(finding->limit, "vm.max_map_count = 65530");
  EXPECT_NE(finding->observed.find("no other limit was set"), std::string::npos);
  termination.limits.reset();
  EXPECT_TRUE(ExplainTermination(termination, root.path())->limit.empty())
      << "who knows what was limited";
  termination.limits.emplace().data.soft = kGiB;
  EXPECT_EQ(ExplainTermination(termination, root.path())->limit, "RLIMIT_DATA = 1 GiB");
}

TEST(ThreadLocalData, ListsAllLimitsIfUnknown) {
  const TestingDirectory root;
  const auto finding = ExplainTermination(Abort(), root.path());
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->limit.empty());
  EXPECT_NE(finding->fix.find("vm.max_map_count"), std::string::npos);
}

TEST(Killed, RequiresEvidence) {
  const TestingDirectory root;
  Termination termination;
  termination.command = "train";
  termination.signal = SIGKILL;
  EXPECT_FALSE(ExplainTermination(termination, root.path()));
  termination.kills_before = 3;
  termination.kills_after = 3;
  EXPECT_FALSE(ExplainTermination(termination, root.path())) << "somebody else killed it";
  termination.kills_after = 4;
  const auto finding = ExplainTermination(termination, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kOutOfMemoryKill);
  EXPECT_EQ(finding->cause, Id::kCgroupMemory);
  termination.signal.reset();
  termination.exit_status = 137;
  EXPECT_TRUE(ExplainTermination(termination, root.path())) << "as a shell says it";
  termination.exit_status = 1;
  EXPECT_FALSE(ExplainTermination(termination, root.path()));
}

TEST(NoThread, DiffersFromOutOfMemory) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/\n");
  Termination termination;
  termination.command = "train";
  termination.exit_status = 1;
  termination.last_lines = "libgomp: Thread creation failed: Resource temporarily unavailable\n";
  termination.limits.emplace();
  EXPECT_EQ(ExplainTermination(termination, root.path())->id, Id::kThreadCeiling);
  termination.limits->processes.soft = 20;
  EXPECT_EQ(ExplainTermination(termination, root.path())->id, Id::kProcessLimit);
  termination.limits->address_space.soft = kGiB;
  EXPECT_EQ(ExplainTermination(termination, root.path())->id, Id::kAddressSpace);
  root.Write("sys/fs/cgroup/pids.max", "40\n");
  root.Write("sys/fs/cgroup/pids.current", "40\n");
  EXPECT_EQ(ExplainTermination(termination, root.path())->id, Id::kCgroupPids);
  termination.exit_status = 0;
  EXPECT_FALSE(ExplainTermination(termination, root.path())) << "it did not fail";
}

TEST(NoThread, IsNotAnyResourceThatIsUnavailable) {
  const TestingDirectory root;
  const auto explained = [&](const std::string& last_lines) {
    Termination termination;
    termination.exit_status = 1;
    termination.last_lines = last_lines;
    return ExplainTermination(termination, root.path()).has_value();
  };
  const std::string python =
      "Traceback (most recent call last):\n  File \"/a/threading.py\", line 9, in run\n";
  const std::string raised = "BlockingIOError: [Errno 11] Resource temporarily unavailable\n";
  EXPECT_FALSE(explained(python + "    s.recv(1)\n" + raised));
  EXPECT_FALSE(explained("recv: Resource temporarily unavailable\n"));
  EXPECT_FALSE(explained("thread 3: recv: Resource temporarily unavailable\n"));
  EXPECT_TRUE(explained("thread 19: Resource temporarily unavailable\n"));
  EXPECT_FALSE(explained("  what():  recv: Resource temporarily unavailable\n"));
  EXPECT_FALSE(explained(
      "thread 'main' panicked at src/main.rs:4: Os { code: 11, kind: WouldBlock, message: "
      "\"Resource temporarily unavailable\" }\n"));
  EXPECT_TRUE(explained(python + "    self.pid = _fork_exec(\n               ^^^^^\n" + raised));
  EXPECT_TRUE(explained("bash: fork: retry: Resource temporarily unavailable\n"));
  EXPECT_TRUE(
      explained("terminate called after throwing an instance of 'std::system_error'\n"
                "  what():  Resource temporarily unavailable\n"));
  EXPECT_TRUE(
      explained("failed to spawn thread: Os { code: 11, kind: WouldBlock, message: "
                "\"Resource temporarily unavailable\" }\n"));
  EXPECT_TRUE(explained("OMP: System error #11: Resource temporarily unavailable\n"));
  EXPECT_TRUE(explained("Cannot create thread: Resource temporarily unavailable\n"));
}

TEST(NoThread, ProcessLimitDoesNotBindRoot) {
  const TestingDirectory root;
  Termination termination;
  termination.exit_status = 1;
  termination.last_lines = "RuntimeError: can't start new thread\n";
  termination.limits.emplace().processes.soft = 5000;
  root.Write("proc/self/status", "Uid:\t0\t0\t0\t0\n");
  EXPECT_EQ(ExplainTermination(termination, root.path())->id, Id::kThreadCeiling)
      << "it ran as this process does";
  termination.use.exempt_from_process_limit = false;
  EXPECT_EQ(ExplainTermination(termination, root.path())->id, Id::kProcessLimit)
      << "it had become another user";
}

TEST(NoThread, BlamesTheFirstOfTwoLimits) {
  const TestingDirectory root;
  Termination termination;
  termination.exit_status = 1;
  termination.last_lines = "RuntimeError: can't start new thread\n";
  termination.limits.emplace().address_space.soft = 8 * kGiB;
  termination.limits->stack.soft = 8 * kMiB;
  const auto blamed = [&](std::uint64_t processes) {
    termination.limits->processes.soft = processes;
    return ExplainTermination(termination, root.path())->id;
  };
  EXPECT_EQ(blamed(20), Id::kProcessLimit) << "20 threads have room in 8 GiB";
  EXPECT_EQ(blamed(90'000), Id::kAddressSpace);
  termination.use.threads = 180;
  EXPECT_EQ(blamed(200), Id::kProcessLimit) << "it was nearly reached";
  termination.use.address_peak = 8 * kGiB - kMiB;
  EXPECT_EQ(blamed(20), Id::kAddressSpace) << "it was measured";
}

TEST(NoThread, RefusalsOfTheControlGroupAreMeasured) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/pids.max", "40\n");
  root.Write("sys/fs/cgroup/pids.current", "2\n");
  Termination termination;
  termination.exit_status = 1;
  termination.last_lines = "can't start new thread\n";
  termination.limits.emplace().processes.soft = 5000;
  termination.refusals_before = 7;
  termination.refusals_after = 7;
  EXPECT_EQ(ExplainTermination(termination, root.path())->id, Id::kProcessLimit);
  termination.refusals_after = 8;
  auto finding = ExplainTermination(termination, root.path());
  EXPECT_EQ(finding->id, Id::kCgroupPids) << "although it is empty again";
  EXPECT_EQ(finding->confidence, Confidence::kMeasured);
  EXPECT_TRUE(finding->limit.starts_with("pids.max = 40 in ")) << finding->limit;
  termination.last_lines = "it did not work\n";
  finding = ExplainTermination(termination, root.path());
  ASSERT_TRUE(finding) << "the count is enough";
  EXPECT_EQ(finding->id, Id::kCgroupPids);
}

Termination Failed(const std::string& last_lines) {
  Termination termination;
  termination.command = "train";
  termination.exit_status = 1;
  termination.last_lines = last_lines;
  termination.limits.emplace();
  return termination;
}

TEST(NoMemory, IsExplainedByTheLimitThatIsSet) {
  const TestingDirectory root;
  root.Write("proc/sys/vm/max_map_count", "65530\n");
  root.Write("proc/sys/vm/overcommit_memory", "0\n");
  for (const char* text :
       {"MemoryError\n", "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8. GiB\n",
        "terminate called after throwing an instance of 'std::bad_alloc'\n",
        "mmap: Cannot allocate memory\n", "libx.so: failed to map segment from shared object\n"}) {
    Termination termination = Failed(text);
    EXPECT_FALSE(ExplainTermination(termination, root.path())) << "no limit: " << text;
    termination.limits->address_space.soft = kGiB;
    auto finding = ExplainTermination(termination, root.path());
    ASSERT_TRUE(finding) << text;
    EXPECT_EQ(finding->id, Id::kAddressSpace);
    EXPECT_EQ(finding->severity, Severity::kFatal);
    EXPECT_EQ(finding->confidence, Confidence::kLikely);
    EXPECT_EQ(finding->limit, "RLIMIT_AS = 1 GiB");
    termination.limits->data.soft = kMiB;
    termination.use.data = kMiB;
    finding = ExplainTermination(termination, root.path());
    EXPECT_EQ(finding->id, Id::kDataLimit) << "what was reached goes before the rest";
    EXPECT_EQ(finding->confidence, Confidence::kMeasured);
  }
}

TEST(NoMemory, IsNotThatOfAGpuOrOfJava) {
  const TestingDirectory root;
  for (const char* text :
       {"torch.OutOfMemoryError: CUDA out of memory.\n", "java.lang.OutOfMemoryError: heap\n"}) {
    Termination termination = Failed(text);
    termination.limits->address_space.soft = kGiB;
    EXPECT_FALSE(ExplainTermination(termination, root.path())) << text;
  }
}

TEST(NoFile, NamesTheLimit) {
  const TestingDirectory root;
  Termination termination = Failed("OSError: [Errno 24] Too many open files: 'x'\n");
  EXPECT_FALSE(ExplainTermination(termination, root.path())) << "no limit is known";
  termination.limits->open_files = {12, 12};
  const auto finding = ExplainTermination(termination, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kOpenFiles);
  EXPECT_EQ(finding->limit, "RLIMIT_NOFILE = 12");
  termination.last_lines = "Too many open files in system\n";
  EXPECT_FALSE(ExplainTermination(termination, root.path())) << "of the machine";
}

}  // namespace termination_test
}  // namespace reveza::doctor

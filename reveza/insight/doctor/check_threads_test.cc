#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "common/platform/testing_directory.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace check_threads_test {

using platform::TestingDirectory;

Findings Probe(const Subject& subject) {
  return RunIsolated("threads", std::chrono::seconds(100), [&] { return CheckThreads(subject); });
}

ProcessView Some() {
  ProcessView view;
  view.pid = 5;
  view.limits.emplace();
  view.limits->stack.soft = 256 << 10;
  view.use.address_space = 100 << 20;
  return view;
}

TEST(ThreadProbe, StartsThreadsConcurrently) {
  const TestingDirectory root;  // says nothing of any limit
  Subject subject;
  subject.root = root.path();
  subject.seen = {Some()};
  const auto found = Probe(subject);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kFine) << found[0].observed;
  EXPECT_EQ(found[0].observed, "1024 threads with stacks of 256 KiB existed at once");
}

// More than the 1,024 of everyday, up to half of what the kernel's count leaves.
TEST(ThreadProbe, DeepProbeTriesMore) {
  const TestingDirectory root;
  root.Write("proc/sys/kernel/threads-max", "2700\n");
  root.Write("proc/loadavg", "0 0 0 1/100 7\n");
  Subject subject;
  subject.root = root.path();
  subject.seen = {Some()};
  EXPECT_TRUE(Probe(subject)[0].observed.starts_with("1024 threads"));
  subject.deep = true;
  const auto found = Probe(subject);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kFine) << found[0].observed;
  EXPECT_EQ(found[0].observed,
            "1300 threads with stacks of 256 KiB existed at once; more were not tried, to leave "
            "half of the machine's threads to others");
}

TEST(ThreadProbe, LeavesHalfToOthers) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/pids.max", "100\n");
  root.Write("sys/fs/cgroup/pids.current", "60\n");
  Subject subject;
  subject.root = root.path();
  subject.seen = {Some()};
  const auto found = Probe(subject);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].observed.starts_with("20 threads")) << found[0].observed;
  EXPECT_NE(found[0].observed.find("pids.max"), std::string::npos);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(ThreadProbe, RespectsTheLimitsOfTheSubject) {
  const TestingDirectory root;
  Subject subject;
  subject.root = root.path();
  subject.seen = {Some()};
  // 32 MiB are left: room for some hundred stacks of 256 KiB.
  subject.seen->front().limits->address_space.soft = 132 << 20;
  const auto found = Probe(subject);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kWarning) << found[0].observed;
  EXPECT_NE(found[0].observed.find("could not be started"), std::string::npos);
}
#endif

TEST(Cores, AreRatedByTheSpeedupOfTwo) {
  EXPECT_EQ(DiagnoseCores({1.97, 1.0, false}).severity, Severity::kFine);
  EXPECT_EQ(DiagnoseCores({1.4, 0.99, false}).severity, Severity::kWarning);
  EXPECT_EQ(DiagnoseCores({1.3, 0.99, true}).severity, Severity::kNote) << "as the machine says";
  EXPECT_EQ(DiagnoseCores({1.2, 0.6, false}).severity, Severity::kNote) << "others were at work";
}

TEST(Cores, AreMeasuredWithTwoCpus) {
  const auto measured = MeasureCores();
  if (!measured) GTEST_SKIP() << "only one CPU";
  EXPECT_GT(measured->both, 0);
  EXPECT_GT(measured->cpu_part, 0);
  EXPECT_LT(measured->cpu_part, 1.5);
}

}  // namespace check_threads_test
}  // namespace reveza::doctor

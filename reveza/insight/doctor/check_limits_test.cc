#include <gtest/gtest.h>

#include <algorithm>

#include "common/platform/testing_directory.h"
#include "reveza/insight/doctor/checks.h"
#include "reveza/insight/doctor/limit_fix.h"

namespace reveza::doctor {
namespace check_limits_test {

using platform::TestingDirectory;

Severity SeverityOf(const Findings& findings, Id id) {
  const auto merged = MergeFindings(findings);
  const auto found = std::ranges::find(merged, id, &Finding::id);
  EXPECT_NE(found, merged.end()) << IdName(id);
  return found == merged.end() ? Severity::kFine : found->severity;
}

struct Process {
  const char* address_space = "unlimited";
  const char* data = "unlimited";
  const char* stack = "8388608";
  const char* processes = "10000";
  const char* files = "1024";
  const char* library = "/usr/lib/libm.so.6";
  int maps = 1;
};

Subject Recorded(const TestingDirectory& root, const Process& process) {
  root.Write("proc/5/limits", std::string("Max address space ") + process.address_space +
                                  " unlimited bytes\nMax data size " + process.data +
                                  " unlimited bytes\nMax stack size " + process.stack +
                                  " unlimited bytes\nMax processes " + process.processes +
                                  " unlimited processes\nMax open files " + process.files +
                                  " 4096 files\nMax locked memory 65536 65536 bytes\n");
  root.Write("proc/5/status", "VmPeak: 7340032 kB\nVmSize: 7340032 kB\nVmData: 1024 kB\n");
  root.Write("proc/5/cmdline", std::string("train\0", 6));
  root.Write("proc/5/stat", "5 (train) S 1 5 5 0");
  std::string maps;
  for (int i = 0; i < process.maps; ++i) {
    maps += std::string("1-2 r-xp 0 0:0 1 ") + process.library + "\n";
  }
  root.Write("proc/5/maps", maps);
  root.Write("proc/sys/vm/max_map_count", "100\n");
  Subject subject;
  subject.root = root.path();
  subject.pid = 5;
  return subject;
}

TEST(AddressSpace, UnlimitedIsFine) {
  const TestingDirectory root;
  EXPECT_EQ(SeverityOf(CheckAddressSpace(Recorded(root, {})), Id::kAddressSpace), Severity::kFine);
}

TEST(AddressSpace, AnyLimitIsAWarning) {
  const TestingDirectory root;
  const auto found = CheckAddressSpace(Recorded(root, {.address_space = "17179869184"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_NE(found[0].observed.find("16 GiB"), std::string::npos) << found[0].observed;
  EXPECT_NE(found[0].limit.find("ulimit -v 16777216"), std::string::npos) << found[0].limit;
}

TEST(AddressSpace, ALimitWithCudaIsFatal) {
  const TestingDirectory root;
  const auto found = CheckAddressSpace(
      Recorded(root, {.address_space = "17179869184", .library = "/usr/lib/libcuda.so.535"}));
  EXPECT_EQ(SeverityOf(found, Id::kAddressSpace), Severity::kFatal);
}

TEST(AddressSpace, ANearlyReachedLimitIsFatal) {
  const TestingDirectory root;  // 7 of 7.5 GiB
  const auto found = CheckAddressSpace(Recorded(root, {.address_space = "8053063680"}));
  EXPECT_EQ(SeverityOf(found, Id::kAddressSpace), Severity::kFatal);
  EXPECT_NE(found[0].why.find("thread-local data"), std::string::npos);
}

TEST(AddressSpace, AShellLimitIsFatalOnAGpuMachine) {
  const TestingDirectory root;
  root.Write("proc/self/limits", "Max address space 17179869184 unlimited bytes\n");
  Subject subject;
  subject.root = root.path();
  EXPECT_EQ(SeverityOf(CheckAddressSpace(subject), Id::kAddressSpace), Severity::kWarning);
  root.Write("proc/driver/nvidia/version", "NVRM version: 535\n");
  EXPECT_EQ(SeverityOf(CheckAddressSpace(subject), Id::kAddressSpace), Severity::kFatal);
}

TEST(AddressSpace, IsANoteForHiddenProcesses) {
  const TestingDirectory root;
  root.Write("proc/5/status", "Name: x\n");
  Subject subject;
  subject.root = root.path();
  subject.pid = 5;
  EXPECT_EQ(SeverityOf(CheckAddressSpace(subject), Id::kAddressSpace), Severity::kNote);
}

TEST(AddressSpace, ChecksChildren) {
  const TestingDirectory root;
  const Subject subject = Recorded(root, {});
  root.Write("proc/5/task/5/children", "6 ");
  root.Write("proc/6/limits", "Max address space 1000 unlimited bytes\n");
  EXPECT_EQ(SeverityOf(CheckAddressSpace(subject), Id::kAddressSpace), Severity::kWarning);
}

TEST(ReadProcess, NamesTheProgramWithItsArguments) {
  const TestingDirectory root;
  root.Write("proc/5/cmdline", std::string("/usr/bin/python3\0/data/train.py\0", 32));
  const auto view = ReadProcess(5, root.path());
  ASSERT_TRUE(view);
  EXPECT_EQ(DisplayName(*view), "python3 /data/train.py (pid 5)");
  EXPECT_FALSE(ReadProcess(6, root.path()));
}

TEST(MapCount, IsComparedWithMaxMapCount) {
  const TestingDirectory root;
  for (const auto& [maps, severity] :
       {std::pair{10, Severity::kFine}, {60, Severity::kWarning}, {95, Severity::kFatal}}) {
    EXPECT_EQ(SeverityOf(CheckMapCount(Recorded(root, {.maps = maps})), Id::kMapCount), severity)
        << maps;
  }
}

TEST(ProcessLimits, ChecksEachLimit) {
  const TestingDirectory root;
  const auto fine = CheckProcessLimits(Recorded(root, {}));
  for (const Id id :
       {Id::kDataLimit, Id::kStackLimit, Id::kProcessLimit, Id::kOpenFiles, Id::kLockedMemory}) {
    EXPECT_EQ(SeverityOf(fine, id), Severity::kFine) << IdName(id);
  }
  const auto tight = CheckProcessLimits(Recorded(root, {.data = "1048576",
                                                        .stack = "1073741824",
                                                        .processes = "20",
                                                        .files = "64",
                                                        .library = "/usr/lib/libibverbs.so.1"}));
  EXPECT_EQ(SeverityOf(tight, Id::kDataLimit), Severity::kFatal) << "all of it is used";
  for (const Id id : {Id::kStackLimit, Id::kProcessLimit, Id::kOpenFiles, Id::kLockedMemory}) {
    EXPECT_EQ(SeverityOf(tight, id), Severity::kWarning) << IdName(id);
  }
}

TEST(ProcessLimits, RootIsNotBoundByTheNumberOfProcesses) {
  const TestingDirectory root;
  const Subject subject = Recorded(root, {.processes = "20"});
  EXPECT_EQ(SeverityOf(CheckProcessLimits(subject), Id::kProcessLimit), Severity::kWarning);
  root.Write("proc/5/status", "Uid:\t0\t0\t0\t0\n");
  EXPECT_EQ(SeverityOf(CheckProcessLimits(subject), Id::kProcessLimit), Severity::kFine);
}

TEST(LimitFix, ChangesTheLimit) {
  EXPECT_TRUE(HowToRaise("-n", "nofile", {12, 4096}).starts_with("ulimit -n 4096;"));
  EXPECT_TRUE(HowToRaise("-n", "nofile", {12, {}}).starts_with("ulimit -n 1048576;"));
  EXPECT_TRUE(HowToRaise("-u", "nproc", {12, {}}).starts_with("ulimit -u unlimited;"));
  EXPECT_TRUE(HowToRaise("-l", "memlock", {0, 8 * kMiB}).starts_with("ulimit -l 8192;"));
  const std::string fix = HowToRaise("-n", "nofile", {12, 12});
  EXPECT_FALSE(fix.contains("ulimit -n 12")) << fix;
  EXPECT_TRUE(fix.contains("root")) << fix;
}

TEST(LimitFix, DoesNotLowerWhatIsHigh) {
  EXPECT_TRUE(HowToRaiseMapCount(65530).contains("vm.max_map_count=1048576"));
  EXPECT_FALSE(HowToRaiseMapCount(2147483642).contains("sysctl"));
  EXPECT_TRUE(HowToRaiseThreads(1000, 1 << 22).contains("kernel.threads-max=1000000"));
  EXPECT_FALSE(HowToRaiseThreads(1000, 1 << 22).contains("pid_max"));
  EXPECT_FALSE(HowToRaiseThreads(2000000, 1 << 22).contains("sysctl"));
}

TEST(LockedMemory, ReportsLockedAndPinnedMemory) {
  const TestingDirectory root;
  const Subject subject = Recorded(root, {});  // 64 KiB allowed
  const auto told = [&] {
    const auto found = CheckProcessLimits(subject);
    return *std::ranges::find(found, Id::kLockedMemory, &Finding::id);
  };
  EXPECT_TRUE(told().observed.starts_with("locked memory of train (pid 5): at most 64 KiB"))
      << told().observed;
  root.Write("proc/5/status", "VmLck: 4 kB\nVmPin: 2048 kB\nVmSize: 9 kB\n");
  EXPECT_EQ(told().severity, Severity::kWarning) << "more is pinned than may be";
  EXPECT_NE(told().observed.find("4 KiB locked and 2 MiB pinned"), std::string::npos)
      << told().observed;
  EXPECT_EQ(told().limit, "RLIMIT_MEMLOCK = 64 KiB (ulimit -l 64)");
  EXPECT_NE(told().fix.find("memlock unlimited"), std::string::npos) << told().fix;
  root.Write("proc/5/status", "VmLck: 58 kB\nVmPin: 0 kB\nVmSize: 9 kB\n");
  EXPECT_EQ(told().severity, Severity::kWarning) << "nearly all of it";
  root.Write("proc/5/status", "VmLck: 16 kB\nVmPin: 0 kB\nVmSize: 9 kB\n");
  EXPECT_EQ(told().severity, Severity::kFine);
}

TEST(ThreadCeiling, IsTheSmallestKernelLimit) {
  const TestingDirectory root;
  root.Write("proc/sys/kernel/threads-max", "1000\n");
  root.Write("proc/sys/kernel/pid_max", "400\n");
  Subject subject;
  subject.root = root.path();
  for (const auto& [live, severity] : {std::pair{"100", Severity::kFine},
                                       {"250", Severity::kWarning},
                                       {"399", Severity::kFatal}}) {
    root.Write("proc/loadavg", std::string("0 0 0 1/") + live + " 7\n");
    EXPECT_EQ(SeverityOf(CheckThreadCeiling(subject), Id::kThreadCeiling), severity) << live;
  }
  const TestingDirectory empty;
  subject.root = empty.path();
  EXPECT_TRUE(CheckThreadCeiling(subject).empty()) << "nothing known, nothing said";
}

}  // namespace check_limits_test
}  // namespace reveza::doctor

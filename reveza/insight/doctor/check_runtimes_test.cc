#include <gtest/gtest.h>

#include <algorithm>

#include "common/platform/testing_directory.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace check_runtimes_test {

using platform::TestingDirectory;

ProcessView With(std::vector<std::string> libraries,
                 std::map<std::string, std::string> environment = {}) {
  ProcessView view;
  view.pid = 5;
  view.maps.emplace();
  view.maps->libraries = std::move(libraries);
  view.environment = std::move(environment);
  return view;
}

Subject Of(const TestingDirectory& root, std::vector<ProcessView> processes) {
  root.Write("sys/devices/system/cpu/online", "0-3\n");
  Subject subject;
  subject.root = root.path();
  subject.seen = std::move(processes);
  return subject;
}

std::optional<Severity> Worst(const Findings& findings, Id id) {
  const auto merged = MergeFindings(findings);
  const auto finding = std::ranges::find(merged, id, &Finding::id);
  if (finding == merged.end()) return std::nullopt;
  return finding->severity;
}

TEST(Runtimes, OneOfEachIsFine) {
  const TestingDirectory root;
  const auto found =
      CheckRuntimes(Of(root, {With({"/a/libgomp.so.1", "/a/libopenblas.so.0", "/a/libompl.so"})}));
  EXPECT_EQ(Worst(found, Id::kOpenmpRuntimes), Severity::kFine);
  EXPECT_EQ(Worst(found, Id::kBlasRuntimes), Severity::kFine);
  EXPECT_TRUE(CheckRuntimes(Of(root, {With({"/a/libm.so.6"})})).empty());
}

TEST(Runtimes, SeveralInOneProcessAreReported) {
  const TestingDirectory root;
  auto found = CheckRuntimes(Of(root, {With({"/a/libgomp-a34b.so.1", "/b/libiomp5.so"})}));
  EXPECT_EQ(Worst(found, Id::kOpenmpRuntimes), Severity::kWarning);
  found = CheckRuntimes(Of(root, {With({"/numpy.libs/libscipy_openblas64_-x.so",
                                        "/scipy.libs/libscipy_openblas-y.so"})}));
  EXPECT_EQ(Worst(found, Id::kBlasRuntimes), Severity::kNote) << "two copies of one kind";
  found = CheckRuntimes(Of(root, {With({"/a/libopenblas.so", "/b/libmkl_core.so.2"})}));
  EXPECT_EQ(Worst(found, Id::kBlasRuntimes), Severity::kWarning);
  found = CheckRuntimes(Of(root, {With({"/a/libgomp.so.1"}), With({"/b/libiomp5.so"})}));
  EXPECT_EQ(Worst(found, Id::kOpenmpRuntimes), Severity::kFine) << "not in one process";
}

TEST(ThreadVariables, AreComparedWithTheShare) {
  const TestingDirectory root;
  EXPECT_EQ(Worst(CheckThreadVariables(Of(root, {With({}, {{"OMP_NUM_THREADS", "8,2"}})})),
                  Id::kThreadVariables),
            Severity::kWarning);
  EXPECT_EQ(Worst(CheckThreadVariables(Of(root, {With({}, {{"OMP_NUM_THREADS", "4"}})})),
                  Id::kThreadVariables),
            Severity::kFine);
  EXPECT_EQ(Worst(CheckThreadVariables(Of(root, {With({})})), Id::kThreadVariables),
            Severity::kFine);
}

TEST(ThreadVariables, SumsWorkers) {
  const TestingDirectory root;
  const ProcessView greedy = With({"/a/libgomp.so.1"});
  const ProcessView modest = With({"/a/libgomp.so.1"}, {{"OMP_NUM_THREADS", "1"}});
  EXPECT_EQ(Worst(CheckThreadVariables(Of(root, {greedy, greedy, greedy})), Id::kThreadVariables),
            Severity::kWarning);
  EXPECT_EQ(Worst(CheckThreadVariables(Of(root, {modest, modest, modest})), Id::kThreadVariables),
            Severity::kFine);
}

}  // namespace check_runtimes_test
}  // namespace reveza::doctor

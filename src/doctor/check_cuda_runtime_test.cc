#include <gtest/gtest.h>

#include <string>

#include "doctor/checks.h"
#include "platform/testing_directory.h"

namespace reveza::doctor {
namespace {

using platform::TestingDirectory;

// Of a process with these libraries, beside a driver that knows CUDA 12.2.
Findings Of(const TestingDirectory& root, std::vector<std::string> libraries,
            const char* nvml = REVEZA_TESTING_NVML) {
  Subject subject;
  subject.root = root.path();
  subject.nvml = nvml;
  ProcessView process;
  process.pid = 5;
  process.name = "train";
  process.maps.emplace();
  process.maps->libraries = std::move(libraries);
  subject.seen = {process};
  return CheckCudaRuntime(subject);
}

Finding One(const Findings& found) {
  EXPECT_EQ(found.size(), 1u);
  if (found.empty()) return {};
  EXPECT_EQ(found[0].id, Id::kGpuRuntime);
  return found[0];
}

TEST(CudaRuntime, IsToldAlsoWhenItIsFine) {
  const TestingDirectory root;
  const auto finding = One(Of(root, {"/opt/lib/libcudart.so.12.1.105"}));
  EXPECT_EQ(finding.severity, Severity::kFine);
  EXPECT_EQ(finding.observed, "train (pid 5) uses CUDA 12.1 (/opt/lib/libcudart.so.12.1.105)");
  EXPECT_EQ(finding.limit, "the driver knows CUDA up to 12.2");
}

TEST(CudaRuntime, OfAWheelIsKnownByItsNumber) {
  const TestingDirectory root;
  EXPECT_NE(One(Of(root, {"/site/libcudart-1a2b3c.so.11.0"})).observed.find("uses CUDA 11.0"),
            std::string::npos);
  EXPECT_NE(One(Of(root, {"/site/libcudart.so.12"})).observed.find("uses CUDA 12 ("),
            std::string::npos);
}

TEST(CudaRuntime, ThatIsPartOfTheProgramShowsInOtherLibraries) {
  const TestingDirectory root;
  EXPECT_NE(One(Of(root, {"/lib/libcublas.so.12.4.5.8"})).observed.find("uses CUDA 12 ("),
            std::string::npos)
      << "its minor number is its own";
  EXPECT_NE(One(Of(root, {"/lib/libnvrtc.so.12.2.140"})).observed.find("uses CUDA 12.2"),
            std::string::npos);
  EXPECT_NE(One(Of(root, {"/lib/libcuda.so.535.1"})).observed.find("part of the program"),
            std::string::npos);
}

TEST(CudaRuntime, NewerThanTheDriverFails) {
  const TestingDirectory root;
  const auto newer = One(Of(root, {"/lib/libcudart.so.13.0.48"}));
  EXPECT_EQ(newer.severity, Severity::kFatal);
  EXPECT_NE(newer.why.find("insufficient"), std::string::npos);
  const auto minor = One(Of(root, {"/lib/libcudart.so.12.4.127"}));
  EXPECT_EQ(minor.severity, Severity::kNote) << "that much newer works, but for what it compiles";
  EXPECT_NE(minor.why.find("PTX"), std::string::npos);
}

TEST(CudaRuntime, IsToldWithoutADriverToo) {
  const TestingDirectory root;
  const auto finding = One(Of(root, {"/lib/libcudart.so.13.0.48"}, "no-such-library.so"));
  EXPECT_EQ(finding.severity, Severity::kFine);
  EXPECT_NE(finding.observed.find("uses CUDA 13.0"), std::string::npos);
  EXPECT_EQ(finding.limit, "what the driver knows cannot be read");
}

TEST(CudaRuntime, OfTheMachineIsWhatIsInstalled) {
  const TestingDirectory root;
  EXPECT_NE(One(Of(root, {})).observed.find("no CUDA is installed"), std::string::npos);
  for (const char* broken : {"", "[]", "{\"cuda\":7}", "{\"cuda\":{\"version\":\"new\"}}"}) {
    root.Write("usr/local/cuda/version.json", broken);
    EXPECT_EQ(One(Of(root, {})).severity, Severity::kFine) << broken;
  }
  root.Write("usr/local/cuda/version.json", R"({"cuda":{"name":"SDK","version":"12.1.1"}})");
  EXPECT_EQ(One(Of(root, {})).observed,
            "what is built here uses CUDA 12.1 (/usr/local/cuda/version.json)");
  root.Write("usr/local/cuda/version.json", R"({"cuda":{"name":"SDK","version":"13.0.1"}})");
  EXPECT_EQ(One(Of(root, {})).severity, Severity::kWarning);
}

}  // namespace
}  // namespace reveza::doctor

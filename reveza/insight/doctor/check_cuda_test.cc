#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "common/platform/testing_directory.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace check_cuda_test {

using platform::TestingDirectory;
using Variables = std::initializer_list<std::pair<const std::string, std::string>>;

Subject With(const TestingDirectory& root, Variables variables, const char* torch = nullptr) {
  ProcessView view;
  view.pid = 5;
  view.environment = variables;
  if (torch != nullptr) {
    view.maps.emplace();
    view.maps->libraries.push_back("/site/torch/lib/libtorch_cpu.so");
    root.Write("site/torch/version.py", std::string("__version__ = '") + torch + "'\n");
  }
  Subject subject;
  subject.root = root.path();
  subject.seen = {view};
  return subject;
}

// The worst of that kind; nothing when there is none.
std::optional<Severity> Of(Id id, const Subject& subject) {
  const auto found = MergeFindings(CheckCudaEnvironment(subject));
  const auto finding = std::ranges::find(found, id, &Finding::id);
  if (finding == found.end()) return std::nullopt;
  return finding->severity;
}

TEST(CudaEnvironment, EmptyEnvironmentYieldsNothing) {
  const TestingDirectory root;
  EXPECT_TRUE(CheckCudaEnvironment(With(root, {{"PATH", "/bin"}})).empty());
}

TEST(LaunchBlocking, IsAWarning) {
  const TestingDirectory root;
  EXPECT_EQ(Of(Id::kLaunchBlocking, With(root, {{"CUDA_LAUNCH_BLOCKING", "1"}})),
            Severity::kWarning);
  EXPECT_EQ(Of(Id::kLaunchBlocking, With(root, {{"CUDA_LAUNCH_BLOCKING", "0"}})), std::nullopt);
}

TEST(GpuVisible, WarnsIfNoDeviceIsVisible) {
  const TestingDirectory root;
  EXPECT_EQ(Of(Id::kGpuVisible, With(root, {{"CUDA_VISIBLE_DEVICES", ""}})), Severity::kWarning);
  EXPECT_EQ(Of(Id::kGpuVisible, With(root, {{"CUDA_VISIBLE_DEVICES", "-1"}})), Severity::kWarning);
  EXPECT_EQ(Of(Id::kGpuVisible, With(root, {{"CUDA_VISIBLE_DEVICES", "0"}})), std::nullopt);
}

TEST(AllocatorSettings, AcceptTheVariableOfTheVersion) {
  const TestingDirectory root;
  const Variables new_name = {{"PYTORCH_ALLOC_CONF", "max_split_size_mb:32"}};
  EXPECT_EQ(Of(Id::kAllocatorSettings, With(root, new_name, "2.4.1+cu121")), Severity::kWarning);
  EXPECT_EQ(Of(Id::kAllocatorSettings, With(root, new_name, "2.9.0")), Severity::kFine);
  EXPECT_EQ(Of(Id::kAllocatorSettings, With(root, new_name, "2.11.0")), Severity::kFine);
  EXPECT_EQ(Of(Id::kAllocatorSettings, With(root, new_name)), Severity::kFine)
      << "the version is not known";
  EXPECT_EQ(Of(Id::kAllocatorSettings,
               With(root, {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:32"}}, "2.4.1")),
            Severity::kFine);
}

TEST(AllocatorSettings, WarnAboutContradictionsAndNoOps) {
  const TestingDirectory root;
  EXPECT_EQ(Of(Id::kAllocatorSettings,
               With(root, {{"PYTORCH_CUDA_ALLOC_CONF", "a:1"}, {"PYTORCH_ALLOC_CONF", "a:2"}})),
            Severity::kWarning);
  EXPECT_EQ(
      Of(Id::kAllocatorSettings, With(root, {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:16"}})),
      Severity::kFatal);
  EXPECT_EQ(
      Of(Id::kAllocatorSettings,
         With(root, {{"PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync,max_split_size_mb:64"}})),
      Severity::kWarning);
}

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

TEST(CudaRuntime, IsReportedEvenIfFine) {
  const TestingDirectory root;
  const auto finding = One(Of(root, {"/opt/lib/libcudart.so.12.1.105"}));
  EXPECT_EQ(finding.severity, Severity::kFine);
  EXPECT_EQ(finding.observed, "train (pid 5) uses CUDA 12.1 (/opt/lib/libcudart.so.12.1.105)");
  EXPECT_EQ(finding.limit, "the driver supports CUDA up to 12.2");
}

TEST(CudaRuntime, ParsesVersionsOfWheels) {
  const TestingDirectory root;
  EXPECT_NE(One(Of(root, {"/site/libcudart-1a2b3c.so.11.0"})).observed.find("uses CUDA 11.0"),
            std::string::npos);
  EXPECT_NE(One(Of(root, {"/site/libcudart.so.12"})).observed.find("uses CUDA 12 ("),
            std::string::npos);
}

TEST(CudaRuntime, StaticRuntimeIsInferredFromOtherLibraries) {
  const TestingDirectory root;
  EXPECT_NE(One(Of(root, {"/lib/libcublas.so.12.4.5.8"})).observed.find("uses CUDA 12 ("),
            std::string::npos)
      << "cuBLAS has its own minor version";
  EXPECT_NE(One(Of(root, {"/lib/libnvrtc.so.12.2.140"})).observed.find("uses CUDA 12.2"),
            std::string::npos);
  EXPECT_NE(One(Of(root, {"/lib/libcuda.so.535.1"})).observed.find("linked statically"),
            std::string::npos);
}

TEST(CudaRuntime, NewerThanTheDriverIsFatal) {
  const TestingDirectory root;
  const auto newer = One(Of(root, {"/lib/libcudart.so.13.0.48"}));
  EXPECT_EQ(newer.severity, Severity::kFatal);
  EXPECT_NE(newer.why.find("insufficient"), std::string::npos);
  const auto minor = One(Of(root, {"/lib/libcudart.so.12.4.127"}));
  EXPECT_EQ(minor.severity, Severity::kNote) << "only run-time compilation may fail";
  EXPECT_NE(minor.why.find("PTX"), std::string::npos);
}

TEST(CudaRuntime, IsReportedWithoutADriver) {
  const TestingDirectory root;
  const auto finding = One(Of(root, {"/lib/libcudart.so.13.0.48"}, "no-such-library.so"));
  EXPECT_EQ(finding.severity, Severity::kFine);
  EXPECT_NE(finding.observed.find("uses CUDA 13.0"), std::string::npos);
  EXPECT_EQ(finding.limit, "the version that the driver supports is unknown");
}

TEST(CudaRuntime, ChecksTheInstalledToolkit) {
  const TestingDirectory root;
  EXPECT_NE(One(Of(root, {})).observed.find("no CUDA toolkit"), std::string::npos);
  for (const char* broken : {"", "[]", "{\"cuda\":7}", "{\"cuda\":{\"version\":\"new\"}}"}) {
    root.Write("usr/local/cuda/version.json", broken);
    EXPECT_EQ(One(Of(root, {})).severity, Severity::kFine) << broken;
  }
  root.Write("usr/local/cuda/version.json", R"({"cuda":{"name":"SDK","version":"12.1.1"}})");
  EXPECT_EQ(One(Of(root, {})).observed,
            "a program built here uses CUDA 12.1 (/usr/local/cuda/version.json)");
  root.Write("usr/local/cuda/version.json", R"({"cuda":{"name":"SDK","version":"13.0.1"}})");
  EXPECT_EQ(One(Of(root, {})).severity, Severity::kWarning);
}

}  // namespace check_cuda_test
}  // namespace reveza::doctor

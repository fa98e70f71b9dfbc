#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "doctor/checks.h"
#include "platform/testing_directory.h"

namespace reveza::doctor {
namespace {

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
  const auto found = Merged(CheckCudaEnvironment(subject));
  const auto finding = std::ranges::find(found, id, &Finding::id);
  if (finding == found.end()) return std::nullopt;
  return finding->severity;
}

TEST(CudaEnvironment, OfNothingFindsNothing) {
  const TestingDirectory root;
  EXPECT_TRUE(CheckCudaEnvironment(With(root, {{"PATH", "/bin"}})).empty());
}

TEST(LaunchBlocking, IsAWarning) {
  const TestingDirectory root;
  EXPECT_EQ(Of(Id::kLaunchBlocking, With(root, {{"CUDA_LAUNCH_BLOCKING", "1"}})),
            Severity::kWarning);
  EXPECT_EQ(Of(Id::kLaunchBlocking, With(root, {{"CUDA_LAUNCH_BLOCKING", "0"}})), std::nullopt);
}

TEST(GpuVisible, SaysWhenNoneIs) {
  const TestingDirectory root;
  EXPECT_EQ(Of(Id::kGpuVisible, With(root, {{"CUDA_VISIBLE_DEVICES", ""}})), Severity::kWarning);
  EXPECT_EQ(Of(Id::kGpuVisible, With(root, {{"CUDA_VISIBLE_DEVICES", "-1"}})), Severity::kWarning);
  EXPECT_EQ(Of(Id::kGpuVisible, With(root, {{"CUDA_VISIBLE_DEVICES", "0"}})), std::nullopt);
}

TEST(AllocatorSettings, AreReadUnderTheNameOfTheVersion) {
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

TEST(AllocatorSettings, ThatContradictOrDoNothingAreSaid) {
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

}  // namespace
}  // namespace reveza::doctor

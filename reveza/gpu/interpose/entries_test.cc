#include "reveza/gpu/interpose/entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace reveza::interpose {
namespace entries_test {

TEST(Entries, AreSortedAndUnique) {
  std::set<std::string_view> names;
  for (const Entry& entry : Entries()) {
    EXPECT_TRUE(names.insert(entry.Name()).second) << entry.Name();
    EXPECT_EQ(BaseOf(entry.Name()), entry.Base());
    EXPECT_EQ(FindEntry(entry.Name()), &entry);
  }
  EXPECT_TRUE(std::ranges::is_sorted(Entries(), {}, &Entry::Base));
  EXPECT_GT(names.size(), 600u);
}

TEST(Entries, BaseOfStripsVersionAndSuffix) {
  EXPECT_EQ(BaseOf("cuMemcpyHtoD_v2_ptds"), "cuMemcpyHtoD");
  EXPECT_EQ(BaseOf("cuLaunchKernel_ptsz"), "cuLaunchKernel");
  EXPECT_EQ(BaseOf("cuCtxCreate_v12"), "cuCtxCreate");
  EXPECT_EQ(BaseOf("cuMemsetD32"), "cuMemsetD32");
  EXPECT_EQ(BaseOf("cuStreamWaitValue32_v2"), "cuStreamWaitValue32");
  EXPECT_EQ(BaseOf("cuSomething_v"), "cuSomething_v");
  EXPECT_EQ(BaseOf("2"), "2");
  EXPECT_EQ(BaseOf(""), "");
}

TEST(Entries, WrapCurrentVersionsOnly) {
  ASSERT_NE(FindEntry("cuLaunchKernel"), nullptr);
  EXPECT_NE(FindEntry("cuLaunchKernel")->wrapper, nullptr);
  EXPECT_FALSE(FindEntry("cuLaunchKernel")->per_thread);
  EXPECT_TRUE(FindEntry("cuLaunchKernel_ptsz")->per_thread);
  EXPECT_NE(FindEntry("cuLaunchKernel_ptsz")->wrapper, FindEntry("cuLaunchKernel")->wrapper);
  // 32-bit versions are passed, current ones wrapped.
  EXPECT_EQ(FindEntry("cuMemAlloc")->wrapper, nullptr);
  EXPECT_NE(FindEntry("cuMemAlloc_v2")->wrapper, nullptr);
  EXPECT_EQ(FindEntry("cuMemGetInfo")->wrapper, nullptr);
  EXPECT_NE(FindEntry("cuMemGetInfo_v2")->wrapper, nullptr);
  EXPECT_EQ(FindEntry("cuCtxGetCurrent")->wrapper, nullptr);
  EXPECT_EQ(FindEntry("cuNever"), nullptr);
}

TEST(Entries, EntriesOfReturnsAllVersionsAndSuffixes) {
  std::set<std::string_view> names;
  for (const Entry& entry : EntriesOf("cuMemPrefetchAsync")) names.insert(entry.Name());
  EXPECT_EQ(names,
            (std::set<std::string_view>{"cuMemPrefetchAsync", "cuMemPrefetchAsync_ptsz",
                                        "cuMemPrefetchAsync_v2", "cuMemPrefetchAsync_v2_ptsz"}));
  EXPECT_TRUE(EntriesOf("cuMem").empty());
}

TEST(Entries, IsExternCallKnowsOtherHeaders) {
  EXPECT_TRUE(IsExternCall("cuProfilerStart"));
  EXPECT_TRUE(IsExternCall("cuGLGetDevices_v2"));
  EXPECT_FALSE(IsExternCall("cuLaunchKernel"));
}

TEST(Entries, IsPassedDependsOnKnownVersionsFirst) {
  EXPECT_TRUE(IsPassed("cuStreamQuery_v9")) << "as all its known versions are";
  EXPECT_FALSE(IsPassed("cuFuncGetAttribute_v9"));
  EXPECT_TRUE(IsPassed("cuProfilerStart_v2"));
  EXPECT_TRUE(IsPassed("cuDeviceGetFuture_v2"));
  EXPECT_FALSE(IsPassed("cuStreamBeginFutureCapture"));
  EXPECT_FALSE(IsPassed("cuFutureBindMem"));
}

TEST(Entries, LooksLikeDriverCallNeedsCapitalAfterCu) {
  EXPECT_TRUE(LooksLikeDriverCall("cuInit"));
  EXPECT_FALSE(LooksLikeDriverCall("cudaMalloc"));
  EXPECT_FALSE(LooksLikeDriverCall("curl_easy_init"));
  EXPECT_FALSE(LooksLikeDriverCall("cu"));
  EXPECT_FALSE(LooksLikeDriverCall("c"));
  EXPECT_FALSE(LooksLikeDriverCall(""));
  EXPECT_FALSE(LooksLikeDriverCall(nullptr));
}

}  // namespace entries_test
}  // namespace reveza::interpose

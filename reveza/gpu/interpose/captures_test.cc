#include "reveza/gpu/interpose/captures.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace reveza::interpose {
namespace captures_test {

CUstream Stream(std::uintptr_t number) { return reinterpret_cast<CUstream>(number); }

CUcontext Context(std::uintptr_t number) { return reinterpret_cast<CUcontext>(number); }

CapturedStream PerThread(std::uintptr_t context) {
  return {.stream = CU_STREAM_PER_THREAD, .context = Context(context), .per_thread = true};
}

CUresult AllCapture(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult NoneCaptures(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult OnlyTheFirst(CUstream stream, CUstreamCaptureStatus* status) {
  *status =
      stream == Stream(1) ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

TEST(CapturesTest, CaptureIsInProgressUntilEnd) {
  Captures captures;
  EXPECT_FALSE(captures.Any());
  captures.OnBegin({.stream = Stream(1)});
  captures.OnBegin({.stream = Stream(2)});
  EXPECT_TRUE(captures.InProgress(AllCapture));
  captures.OnEnd({.stream = Stream(1)});
  EXPECT_TRUE(captures.Any());
  captures.OnEnd({.stream = Stream(2)});
  EXPECT_FALSE(captures.Any());
  EXPECT_FALSE(captures.InProgress(AllCapture));
}

TEST(CapturesTest, CaptureEndedByOtherMeansIsRemoved) {
  Captures captures;
  captures.OnBegin({.stream = Stream(1)});
  captures.OnBegin({.stream = Stream(2)});
  EXPECT_TRUE(captures.InProgress(OnlyTheFirst)) << "an invalidated capture still has to be ended";
  EXPECT_FALSE(captures.InProgress(NoneCaptures));
  EXPECT_FALSE(captures.Any());
}

TEST(CapturesTest, DestroyedStreamIsNotQueried) {
  Captures captures;
  captures.OnBegin({.stream = Stream(1)});
  captures.OnEnd({.stream = Stream(1)});
  EXPECT_FALSE(captures.InProgress(AllCapture));
}

TEST(CapturesTest, PerThreadStreamBelongsToItsThread) {
  Captures captures;
  captures.OnBegin(PerThread(1));
  std::thread([&] { captures.OnEnd(PerThread(1)); }).join();
  EXPECT_TRUE(captures.InProgress(NoneCaptures)) << "only its own thread can end it";
  captures.OnEnd(PerThread(1));
  EXPECT_FALSE(captures.Any());
}

TEST(CapturesTest, EachContextHasAPerThreadStream) {
  Captures captures;
  captures.OnBegin(PerThread(1));
  captures.OnBegin(PerThread(2));
  captures.OnEnd(PerThread(1));
  EXPECT_TRUE(captures.InProgress(NoneCaptures));
  captures.OnEnd(PerThread(2));
  EXPECT_FALSE(captures.Any());
}

TEST(CapturesTest, CapturesEndWithTheirContext) {
  Captures captures;
  captures.OnBegin(PerThread(1));
  captures.OnBegin({.stream = Stream(1), .context = Context(1)});
  captures.OnBegin({.stream = Stream(2), .context = Context(2)});
  captures.OnContextDestroy(Context(1));
  EXPECT_TRUE(captures.Any());
  captures.OnContextDestroy(Context(2));
  EXPECT_FALSE(captures.Any());
}

TEST(CapturesTest, CaptureForGraphicsIsNotQueried) {
  Captures captures;
  captures.OnBegin({.stream = Stream(1), .cig = true});
  EXPECT_TRUE(captures.InProgress(NoneCaptures));
  captures.OnEnd({.stream = Stream(1)});
  EXPECT_FALSE(captures.Any());
}

TEST(CapturesTest, FailedBeginIsNotRecorded) {
  Captures captures;
  EXPECT_EQ(captures.Begin({.stream = Stream(1)}, [] { return CUDA_ERROR_ILLEGAL_STATE; }),
            CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_FALSE(captures.Any());
  EXPECT_EQ(captures.Begin({.stream = Stream(1)}, [] { return CUDA_SUCCESS; }), CUDA_SUCCESS);
  EXPECT_TRUE(captures.Any());
}

// The GPU work that the call waits for may wait for the thread that begins.
TEST(CapturesTest, BeginDoesNotWaitForGpuWork) {
  Captures captures;
  std::thread thread;
  std::atomic<bool> began{false};
  EXPECT_TRUE(captures.RunIfNone([&] {
    thread = std::thread([&] {
      captures.Begin({.stream = Stream(1)}, [&] {
        began = true;
        return CUDA_SUCCESS;
      });
    });
    while (!began) std::this_thread::yield();
  }));
  thread.join();
  EXPECT_TRUE(captures.Any());
}

TEST(CapturesTest, RunIfNoneExcludesBegin) {
  Captures captures(std::chrono::hours(1));
  std::atomic<bool> tries{false};
  std::atomic<bool> began{false};
  std::thread thread;
  EXPECT_TRUE(captures.RunIfNone([&] {
    thread = std::thread([&] {
      tries = true;
      captures.Begin({.stream = Stream(1)}, [&] {
        began = true;
        return CUDA_SUCCESS;
      });
    });
    while (!tries) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(began);
  }));
  thread.join();
  EXPECT_TRUE(began);
  EXPECT_FALSE(captures.RunIfNone([] { ADD_FAILURE() << "a capture is in progress"; }));
}

}  // namespace captures_test
}  // namespace reveza::interpose

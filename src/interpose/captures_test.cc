#include "interpose/captures.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace reveza::interpose {
namespace {

CUstream Stream(std::uintptr_t number) { return reinterpret_cast<CUstream>(number); }

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

TEST(CapturesTest, WhatBeganGoesOnUntilItEnded) {
  Captures captures;
  EXPECT_FALSE(captures.Any());
  captures.Began(Stream(1), false);
  captures.Began(Stream(2), false);
  EXPECT_TRUE(captures.InProgress(AllCapture));
  captures.Ended(Stream(1), false);
  EXPECT_TRUE(captures.Any());
  captures.Ended(Stream(2), false);
  EXPECT_FALSE(captures.Any());
  EXPECT_FALSE(captures.InProgress(AllCapture));
}

TEST(CapturesTest, ACaptureThatEndedOtherwiseIsForgotten) {
  Captures captures;
  captures.Began(Stream(1), false);
  captures.Began(Stream(2), false);
  EXPECT_TRUE(captures.InProgress(OnlyTheFirst)) << "an invalidated capture has still to be ended";
  EXPECT_FALSE(captures.InProgress(NoneCaptures));
  EXPECT_FALSE(captures.Any());
}

TEST(CapturesTest, ADestroyedStreamIsNeverAskedAbout) {
  Captures captures;
  captures.Began(Stream(1), false);
  captures.Destroyed(Stream(1));
  EXPECT_FALSE(captures.InProgress(AllCapture));
}

TEST(CapturesTest, ThePerThreadStreamIsAnotherInEachThread) {
  Captures captures;
  captures.Began(CU_STREAM_PER_THREAD, true);
  std::thread([&] { captures.Ended(CU_STREAM_PER_THREAD, true); }).join();
  EXPECT_TRUE(captures.InProgress(NoneCaptures)) << "only its own thread can end it";
  captures.Ended(CU_STREAM_PER_THREAD, true);
  EXPECT_FALSE(captures.Any());
}

TEST(CapturesTest, OnlyWhatBeganIsRemembered) {
  Captures captures;
  EXPECT_EQ(captures.Begin(Stream(1), false, [] { return CUDA_ERROR_ILLEGAL_STATE; }),
            CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_FALSE(captures.Any());
  EXPECT_EQ(captures.Begin(Stream(1), false, [] { return CUDA_SUCCESS; }), CUDA_SUCCESS);
  EXPECT_TRUE(captures.Any());
}

TEST(CapturesTest, NoneBeginsWhileSomethingNeedsThatNoneDoes) {
  Captures captures;
  std::atomic<bool> tries{false};
  std::atomic<bool> began{false};
  std::thread thread;
  EXPECT_TRUE(captures.WhileNone([&] {
    thread = std::thread([&] {
      tries = true;
      captures.Begin(Stream(1), false, [&] {
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
  EXPECT_FALSE(captures.WhileNone([] { ADD_FAILURE() << "one goes on"; }));
}

}  // namespace
}  // namespace reveza::interpose

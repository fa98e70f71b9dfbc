#include "interpose/captures.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace reveza::interpose

// Runs into a bucket of a real server, with all that can happen on the way there.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "datagen/run/testing_bucket.h"

namespace reveza::datagen {
namespace {

TEST_F(BucketTest, CutsAndLostAnswersLoseNothingAndMakeNothingTwice) {
  FaultProxy& proxy = server_->proxy();
  proxy.Add({.kind = Kind::kCut, .request = "fraudgen.toml", .after = 100});
  proxy.Add({.kind = Kind::kLoseAnswer, .request = "payments_00000.jsonl?uploads"});
  proxy.Add({.kind = Kind::kCut, .request = "partNumber=1", .after = 3 * kMiB, .times = 3});
  proxy.Add({.kind = Kind::kLoseAnswer, .request = "partNumber=1", .times = 2});
  proxy.Add({.kind = Kind::kCut, .request = "partNumber=2", .after = 500});
  proxy.Add(
      {.kind = Kind::kLoseAnswer, .request = "POST /bucket/data/payments_00000.jsonl?uploadId"});
  proxy.Add({.kind = Kind::kLoseAnswer, .request = "PUT /bucket/data/people_00001.jsonl"});
  proxy.Add({.kind = Kind::kCut, .request = "HEAD /bucket/data/payments_00001.jsonl", .times = 2});
  proxy.Add({.kind = Kind::kLoseAnswer, .request = "PUT /bucket/data/manifest.json"});
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->complete);
  EXPECT_EQ(proxy.left(), 0);
  ExpectWhole();
}

TEST_F(BucketTest, SilenceEndsAndItIsTriedAgain) {
  server_->proxy().Add({.kind = Kind::kSilence, .request = "PUT /bucket/data/small"});
  StorePatience patience = kPatience;
  patience.silence = std::chrono::seconds(1);
  const auto store = Connect(patience);
  ASSERT_TRUE(WriteSmall(*store, "small", "some text"));
  EXPECT_EQ(server_->proxy().left(), 0);
  EXPECT_GE(server_->proxy().CountOf("PUT /bucket/data/small"), 2);
  EXPECT_EQ((*store->Head("data/small"))->bytes, 9U);
}

TEST_F(BucketTest, WhileNothingMovesThreePartsAreInMemoryAndNoMore) {
  server_->proxy().Add({.kind = Kind::kSilence, .request = "partNumber=1"});
  const auto store = Connect();
  const auto sink = store->Create("data/large");
  ASSERT_TRUE(sink);
  std::atomic<std::size_t> taken = 0;
  auto maker = std::async(std::launch::async, [&]() -> Status {
    const std::string piece(kMiB, 'x');
    for (int i = 0; i < 64; ++i) {
      if (auto appended = (*sink)->Append(piece); !appended) return appended;
      taken += piece.size();
    }
    return (*sink)->Finish();
  });
  constexpr std::size_t kMost =
      ObjectStore::kPartBytes + (ObjectStore::kPieces - 1) * ObjectStore::kPieceBytes;
  while (taken < kMost &&
         maker.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
  }
  EXPECT_EQ(maker.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  EXPECT_EQ(taken, kMost);
  // The silent connection breaks, and all goes on.
  server_->proxy().SetDown(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server_->proxy().SetDown(false);
  const auto made = maker.get();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*store->Head("data/large"))->bytes, 64 * kMiB);
}

TEST_F(BucketTest, AFileThatTakesItsTimeHoldsNoOther) {
  FaultProxy& proxy = server_->proxy();
  const std::string last_request = "POST /bucket/data/payments_00000.jsonl?uploadId";
  proxy.Add({.kind = Kind::kSilence, .request = last_request});
  int tried = 0;
  const auto result = RunOnce(1, [&](const Progress& now) {
    if (now.files_made < 3 || proxy.left() > 0 || tried > 0) return true;
    tried = proxy.CountOf(last_request);
    // The silent connection breaks, and it is tried again.
    proxy.SetDown(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    proxy.SetDown(false);
    return true;
  });
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(tried, 1);
  ExpectWhole();
}

TEST_F(BucketTest, ASlowNetworkOnlyTakesLonger) {
  server_->proxy().Slow(40 * kMiB);
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  ExpectWhole();
}

TEST_F(BucketTest, WhoeverWatchesIsAskedUntilTheLastByteIsThere) {
  server_->proxy().Slow(8 * kMiB);
  bool asked = false;
  const auto result = RunOnce(1, [&](const Progress& now) {
    asked |= now.rows == kRows && now.files_made < 4;
    return true;
  });
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->progress.files_made, 4U);
  EXPECT_TRUE(asked);
}

TEST_F(BucketTest, WhatIsGivenUpLeavesNothing) {
  const auto store = Connect();
  auto sink = store->Create("data/large");
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->Append(std::string(25 * kMiB, 'x')));
  sink->reset();
  auto small = store->Create("data/small");
  ASSERT_TRUE(small);
  ASSERT_TRUE((*small)->Append("x"));
  small->reset();
  EXPECT_EQ(Unfinished(), 0);
  EXPECT_FALSE(*store->Head("data/large"));
  EXPECT_FALSE(*store->Head("data/small"));
}

// The other end went away, so the upload could not even be aborted; then it is back. It is
// looked at again when the library has ended.
TEST_F(BucketTest, WhatCannotBeAbortedGetsNoNameLater) {
  const auto store = Connect();
  auto sink = store->Create("given-up");
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->Append(std::string(11 * kMiB, 'x')));
  while (server_->proxy().CountOf("partNumber=1") == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  server_->proxy().SetDown(true);
  sink->reset();
  server_->proxy().SetDown(false);
  EXPECT_FALSE(*store->Head("given-up"));
  KeepServer();
}

TEST_F(BucketTest, WhoeverGoesAwayIsAnErrorAndTheNextRunGoesOn) {
  FaultProxy& proxy = server_->proxy();
  proxy.Slow(10 * kMiB);
  auto disturber = std::async(std::launch::async, [&] {
    while (proxy.CountOf("partNumber=2") == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    proxy.SetDown(true);
  });
  const auto cut = RunOnce();
  disturber.get();
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Error::Code::kUnavailable);
  EXPECT_TRUE(cut.error().message.contains("does not answer")) << cut.error().message;
  proxy.SetDown(false);
  proxy.Slow(0);
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  ExpectWhole();
}

TEST_F(BucketTest, ABucketThatIsNotThere) {
  StoreAddress address = server_->Address("data");
  address.bucket = "nowhere";
  EXPECT_EQ(
      RefusalOf(address, Error::Code::kNotFound),
      "http://" + address.endpoint + " has no bucket 'nowhere'; check its name, or make it first");
  address.prefix = "";
  EXPECT_TRUE(RefusalOf(address, Error::Code::kNotFound).contains("has no bucket"));
}

TEST_F(BucketTest, WrongKeys) {
  StoreAddress address = server_->Address("data");
  address.secret_key = "wrong";
  EXPECT_TRUE(RefusalOf(address, Error::Code::kPermission).contains("does not know these keys"));
  address.access_key = "nobody";
  EXPECT_TRUE(RefusalOf(address, Error::Code::kPermission).contains("does not know these keys"));
}

TEST_F(BucketTest, NobodyAnswers) {
  const StoreAddress address = server_->Address("data");
  server_->proxy().SetDown(true);
  const std::string message = RefusalOf(address, Error::Code::kUnavailable);
  EXPECT_TRUE(message.contains("http://" + address.endpoint + " does not answer")) << message;
  EXPECT_TRUE(message.contains("check --s3-endpoint")) << message;
}

}  // namespace
}  // namespace reveza::datagen

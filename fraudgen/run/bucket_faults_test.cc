// Runs into a bucket with injected network faults.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "fraudgen/run/testing_bucket.h"

namespace reveza::fraudgen {
namespace bucket_faults_test {

TEST_F(BucketTest, SurvivesResetsAndLostResponses) {
  FaultProxy& proxy = server_->proxy();
  proxy.Add({.kind = Kind::kReset, .request = "fraudgen.toml", .after = 100});
  proxy.Add({.kind = Kind::kLoseResponse, .request = "payments/part-00000.jsonl?uploads"});
  proxy.Add({.kind = Kind::kReset, .request = "partNumber=1", .after = 3 * kMiB, .times = 3});
  proxy.Add({.kind = Kind::kLoseResponse, .request = "partNumber=1", .times = 2});
  proxy.Add({.kind = Kind::kReset, .request = "partNumber=2", .after = 500});
  proxy.Add({.kind = Kind::kLoseResponse,
             .request = "POST /bucket/data/payments/part-00000.jsonl?uploadId"});
  proxy.Add({.kind = Kind::kLoseResponse, .request = "PUT /bucket/data/people/part-00001.jsonl"});
  proxy.Add(
      {.kind = Kind::kReset, .request = "HEAD /bucket/data/payments/part-00001.jsonl", .times = 2});
  proxy.Add({.kind = Kind::kLoseResponse, .request = "PUT /bucket/data/_fraudgen/manifest.json"});
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->complete);
  EXPECT_EQ(proxy.pending(), 0);
  ExpectComplete();
}

TEST_F(BucketTest, RetriesStalledRequests) {
  server_->proxy().Add({.kind = Kind::kStall, .request = "PUT /bucket/data/small"});
  RetryPolicy retries = kRetries;
  retries.stall_timeout = std::chrono::seconds(1);
  const auto store = Connect(retries);
  ASSERT_TRUE(store->WriteSmall("small", "some text"));
  EXPECT_EQ(server_->proxy().pending(), 0);
  EXPECT_GE(server_->proxy().CountOf("PUT /bucket/data/small"), 2);
  EXPECT_EQ((*store->Stat("small"))->bytes, 9U);
}

TEST_F(BucketTest, StalledUploadBuffersAtMostThreeParts) {
  server_->proxy().Add({.kind = Kind::kStall, .request = "partNumber=1"});
  const auto store = Connect();
  const auto sink = store->Create("large");
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
  constexpr std::size_t kMax =
      UploadLimits::kPartBytes + (UploadLimits::kPieces - 1) * UploadLimits::kPieceBytes;
  while (taken < kMax &&
         maker.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
  }
  EXPECT_EQ(maker.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  EXPECT_EQ(taken, kMax);
  // Breaking the stalled connection lets the upload continue.
  server_->proxy().SetDown(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server_->proxy().SetDown(false);
  const auto made = maker.get();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*store->Stat("large"))->bytes, 64 * kMiB);
}

TEST_F(BucketTest, SlowFileDoesNotBlockOthers) {
  FaultProxy& proxy = server_->proxy();
  const std::string last_request = "POST /bucket/data/payments/part-00000.jsonl?uploadId";
  proxy.Add({.kind = Kind::kStall, .request = last_request});
  int tried = 0;
  const auto result = RunOnce(1, [&](const Progress& now) {
    if (now.files_made < 3 || proxy.pending() > 0 || tried > 0) return true;
    tried = proxy.CountOf(last_request);
    // Breaking the stalled connection triggers a retry.
    proxy.SetDown(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    proxy.SetDown(false);
    return true;
  });
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(tried, 1);
  ExpectComplete();
}

TEST_F(BucketTest, SucceedsOnSlowNetwork) {
  server_->proxy().Throttle(40 * kMiB);
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  ExpectComplete();
}

TEST_F(BucketTest, ReportsProgressUntilUploadsComplete) {
  server_->proxy().Throttle(8 * kMiB);
  bool asked = false;
  const auto result = RunOnce(1, [&](const Progress& now) {
    asked |= now.rows == kRows && now.files_made < 4;
    return true;
  });
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->progress.files_made, 4U);
  EXPECT_TRUE(asked);
}

TEST_F(BucketTest, AbandonedUploadsAreAborted) {
  const auto store = Connect();
  auto sink = store->Create("large");
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->Append(std::string(25 * kMiB, 'x')));
  sink->reset();
  auto small = store->Create("small");
  ASSERT_TRUE(small);
  ASSERT_TRUE((*small)->Append("x"));
  small->reset();
  EXPECT_EQ(PendingUploads(), 0);
  EXPECT_FALSE(*store->Stat("large"));
  EXPECT_FALSE(*store->Stat("small"));
}

// The server is down when the upload is aborted. The fixture checks again after the S3 library has
// shut down.
TEST_F(BucketTest, UploadThatCannotBeAbortedIsNeverCompleted) {
  const auto store = Connect();
  auto sink = store->Create("abandoned");
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->Append(std::string(11 * kMiB, 'x')));
  while (server_->proxy().CountOf("partNumber=1") == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  server_->proxy().SetDown(true);
  sink->reset();
  server_->proxy().SetDown(false);
  EXPECT_FALSE(*store->Stat("abandoned"));
  KeepServer();
}

TEST_F(BucketTest, FailsWhenServerGoesDownAndResumes) {
  FaultProxy& proxy = server_->proxy();
  proxy.Throttle(10 * kMiB);
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
  EXPECT_TRUE(cut.error().message.contains("does not respond")) << cut.error().message;
  proxy.SetDown(false);
  proxy.Throttle(0);
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  ExpectComplete();
}

TEST_F(BucketTest, MissingBucketIsNotFound) {
  StoreAddress address = server_->Address("data");
  address.bucket = "nowhere";
  EXPECT_EQ(ExpectError(address, Error::Code::kNotFound),
            "http://" + address.endpoint + " has no bucket 'nowhere'; check the name or create it");
  address.prefix = "";
  EXPECT_TRUE(ExpectError(address, Error::Code::kNotFound).contains("has no bucket"));
}

TEST_F(BucketTest, WrongCredentialsArePermissionError) {
  StoreAddress address = server_->Address("data");
  address.secret_key = "wrong";
  EXPECT_TRUE(ExpectError(address, Error::Code::kPermission).contains("rejected the credentials"));
  address.access_key = "nobody";
  EXPECT_TRUE(ExpectError(address, Error::Code::kPermission).contains("rejected the credentials"));
}

TEST_F(BucketTest, UnreachableServerIsUnavailable) {
  const StoreAddress address = server_->Address("data");
  server_->proxy().SetDown(true);
  const std::string message = ExpectError(address, Error::Code::kUnavailable);
  EXPECT_TRUE(message.contains("http://" + address.endpoint + " does not respond")) << message;
  EXPECT_TRUE(message.contains("check --s3-endpoint")) << message;
}

}  // namespace bucket_faults_test
}  // namespace reveza::fraudgen

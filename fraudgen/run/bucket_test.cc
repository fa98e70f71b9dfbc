// Runs into a bucket of a local S3 server.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "fraudgen/output/store_address.h"
#include "fraudgen/run/testing_bucket.h"

namespace reveza::fraudgen {
namespace bucket_test {

TEST_F(BucketTest, ReadsRangesOfAnObject) {
  const auto store = Connect();
  const std::string bytes = std::string(3 * kMiB, 'a') + "the end";
  auto sink = store->Create("object");
  ASSERT_TRUE(sink && (*sink)->Append(bytes) && (*sink)->Finish());
  sink->reset();
  const int before = server_->proxy().CountOf("GET /bucket/data/object");
  // One lost response is retried.
  server_->proxy().Add({.kind = Kind::kLoseResponse, .request = "GET /bucket/data/object"});
  const auto source = store->Open("object");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->size(), bytes.size());
  std::string piece(4, ' ');
  EXPECT_EQ((*source)->ReadAt(3 * kMiB - 1, piece), 4u);
  EXPECT_EQ(piece, "athe");
  EXPECT_EQ((*source)->ReadAt(bytes.size() - 2, piece), 2u);
  EXPECT_EQ(server_->proxy().pending(), 0);
  EXPECT_EQ(server_->proxy().CountOf("GET /bucket/data/object"), before + 3);
  EXPECT_EQ(store->Open("nothing").error().code, Error::Code::kNotFound);
}

TEST_F(BucketTest, HasSameBytesAsFolder) {
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->complete);
  ExpectComplete();
  EXPECT_EQ(server_->proxy().CountOf("PUT /bucket/data/payments/part-00000.jsonl?partNumber="), 2);
  EXPECT_EQ(PendingUploads(), 0);
}

// Each request costs a round trip.
TEST_F(BucketTest, FreshRunSendsMinimumOfRequests) {
  const auto store = Connect();
  FaultProxy& proxy = server_->proxy();
  const int gets = proxy.CountOf("GET ");
  const int heads = proxy.CountOf("HEAD ");
  ASSERT_TRUE(store->Prepare());
  ASSERT_TRUE(RunInto(*store));
  // Listings of the root, which has no old layout, of the manifests, and of Connect().
  EXPECT_EQ(proxy.CountOf("GET ") - gets, 3) << testing::PrintToString(proxy.requests());
  // Each file before and after its upload, and manifest.json.
  EXPECT_EQ(proxy.CountOf("HEAD ") - heads, 2 * 4 + 1);
  EXPECT_EQ(proxy.CountOf("HEAD /bucket/data/_fraudgen/manifest-"), 0);
}

TEST_F(BucketTest, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(RunOnce());
  const auto store = Connect();
  for (const auto& [name, text] : ExpectedContents()) {
    const auto there = store->ReadSmall(name);
    ASSERT_TRUE(there && *there) << name;
    const bool same = (IsFileManifest(name) ? WithoutEtag(**there) : **there) == text;
    EXPECT_TRUE(same) << name;
  }
  const auto there = store->ReadSmall("not-there");
  ASSERT_TRUE(there);
  EXPECT_FALSE(*there);
  std::size_t files = 0;
  for (const char* folder : {"payments", "people", "_fraudgen"}) {
    const auto names = store->List(folder);
    ASSERT_TRUE(names);
    files += names->size();
  }
  EXPECT_EQ(files, ExpectedContents().size());
}

TEST_F(BucketTest, SecondRunKeepsFilesWithoutReading) {
  const auto first = RunOnce();
  ASSERT_TRUE(first);
  const int written = server_->proxy().CountOf("PUT ");
  const auto second = RunOnce();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->progress.files_kept, first->progress.files_made);
  EXPECT_EQ(second->progress.files_made, 0U);
  EXPECT_EQ(server_->proxy().CountOf("GET /bucket/data/payments"), 0);
  EXPECT_EQ(server_->proxy().CountOf("PUT "), written);
}

TEST_F(BucketTest, RejectsOtherSeed) {
  ASSERT_TRUE(RunOnce());
  const auto other = RunOnce(2);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Error::Code::kIncompatible);
  EXPECT_TRUE(other.error().message.contains("seed"));
}

TEST_F(BucketTest, DetectsModificationByEtag) {
  ASSERT_TRUE(RunOnce());
  const std::size_t size = ExpectedContents().at("people/part-00000.jsonl").size();
  {
    const auto store = Connect();
    ASSERT_TRUE(store->WriteSmall("people/part-00000.jsonl", std::string(size, 'x')));
  }
  const auto again = RunOnce();
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().message.contains("was modified: ETag ")) << again.error().message;
}

TEST_F(BucketTest, ReplacesIdenticalFileWithoutManifest) {
  ASSERT_TRUE(RunOnce());
  const auto store = Connect();
  std::filesystem::remove(server_->Folder("bucket") /
                          "data/_fraudgen/manifest-payments.part-00000.jsonl.json");
  std::filesystem::remove(server_->Folder("bucket") / "data/_fraudgen/manifest.json");
  const auto again = RunOnce();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->progress.files_made, 1U);
  ExpectComplete();
}

TEST_F(BucketTest, DoesNotReplaceForeignObject) {
  {
    const auto store = Connect();
    ASSERT_TRUE(store->WriteSmall("payments/part-00001.jsonl", "mine"));
  }
  const auto result = RunOnce();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Error::Code::kIncompatible);
  EXPECT_EQ(
      platform::ContentsOf(server_->Folder("bucket") / "data").at("payments/part-00001.jsonl"),
      "mine");
}

TEST_F(BucketTest, ResumesAfterStop) {
  const auto stopped = RunOnce(1, [](const Progress&) { return false; });
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_EQ(PendingUploads(), 0);
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  ExpectComplete();
}

TEST(PrefixOfDay, AppendsDate) {
  EXPECT_EQ(PrefixOfDay("", {.year = 2025, .month = 1, .day = 9}), "2025/01/09");
  EXPECT_EQ(PrefixOfDay("a/b", {.year = 2025, .month = 12, .day = 31}), "a/b/2025/12/31");
}

}  // namespace bucket_test
}  // namespace reveza::fraudgen

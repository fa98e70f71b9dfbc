// Runs into a bucket of a real server.
#include "datagen/run/bucket.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "datagen/output/memory_sink.h"
#include "datagen/run/testing_bucket.h"

namespace reveza::datagen {
namespace {

TEST_F(BucketTest, PartsOfAnObjectAreAskedForAlone) {
  const auto store = Connect();
  const std::string bytes = std::string(3 * kMiB, 'a') + "the end";
  auto sink = store->Create("data/object");
  ASSERT_TRUE(sink && (*sink)->Append(bytes) && (*sink)->Finish());
  sink->reset();
  const int before = server_->proxy().CountOf("GET /bucket/data/object");
  // The connection breaks once on the way, and it is asked for again.
  server_->proxy().Add({.kind = Kind::kLoseAnswer, .request = "GET /bucket/data/object"});
  const auto source = store->Open("data/object");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->size(), bytes.size());
  std::string piece(4, ' ');
  EXPECT_EQ((*source)->ReadAt(3 * kMiB - 1, piece), 4u);
  EXPECT_EQ(piece, "athe");
  EXPECT_EQ((*source)->ReadAt(bytes.size() - 2, piece), 2u);
  EXPECT_EQ(server_->proxy().left(), 0);
  EXPECT_EQ(server_->proxy().CountOf("GET /bucket/data/object"), before + 3);
  EXPECT_EQ(store->Open("data/nothing").error().code, Error::Code::kNotFound);
}

TEST_F(BucketTest, HasTheSameBytesAsAFolder) {
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->complete);
  ExpectWhole();
  EXPECT_EQ(server_->proxy().CountOf("PUT /bucket/data/payments_00000.jsonl?partNumber="), 2);
  EXPECT_EQ(Unfinished(), 0);
}

// Each question costs a journey: what a run can know it does not ask.
TEST_F(BucketTest, AFreshRunAsksNoMoreThanItMust) {
  const auto store = Connect();
  FaultProxy& proxy = server_->proxy();
  const int gets = proxy.CountOf("GET ");
  const int heads = proxy.CountOf("HEAD ");
  Bucket bucket(*store, server_->Address("data"));
  ASSERT_TRUE(bucket.Prepare());
  ASSERT_TRUE(RunInto(bucket));
  // What there is, twice, and which uploads are under way.
  EXPECT_EQ(proxy.CountOf("GET ") - gets, 3);
  // Each file before it gets its name and after, and the manifest of the whole.
  EXPECT_EQ(proxy.CountOf("HEAD ") - heads, 2 * 4 + 1);
  EXPECT_EQ(proxy.CountOf("HEAD /bucket/data/manifest-"), 0);
}

TEST_F(BucketTest, IsReadBackAsItWasWritten) {
  ASSERT_TRUE(RunOnce());
  const auto store = Connect();
  for (const auto& [name, text] : Whole()) {
    MemorySink bytes;
    const auto there = store->Read("data/" + name, bytes);
    ASSERT_TRUE(there && *there) << name;
    const bool same =
        (name.starts_with("manifest-") ? WithoutEtag(bytes.bytes()) : bytes.bytes()) == text;
    EXPECT_TRUE(same) << name;
  }
  MemorySink nothing;
  const auto there = store->Read("data/not-there", nothing);
  ASSERT_TRUE(there);
  EXPECT_FALSE(*there);
  const auto names = store->List("data");
  ASSERT_TRUE(names);
  EXPECT_EQ(names->size(), Whole().size());
}

TEST_F(BucketTest, ASecondRunKeepsAllAndReadsNoneOfIt) {
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

TEST_F(BucketTest, AnotherSeedIsRefused) {
  ASSERT_TRUE(RunOnce());
  const auto other = RunOnce(2);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Error::Code::kIncompatible);
  EXPECT_TRUE(other.error().message.contains("the seed is 1 there and 2 here"));
}

TEST_F(BucketTest, WhatWasChangedIsNoticedByItsName) {
  ASSERT_TRUE(RunOnce());
  const std::size_t size = Whole().at("people_00000.jsonl").size();
  {
    const auto store = Connect();
    ASSERT_TRUE(WriteSmall(*store, "people_00000.jsonl", std::string(size, 'x')));
  }
  const auto again = RunOnce();
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().message.contains("was changed: its ETag is ")) << again.error().message;
}

TEST_F(BucketTest, WhoeverEndedBeforeTheManifestLeftTheSameBytes) {
  ASSERT_TRUE(RunOnce());
  const auto store = Connect();
  std::filesystem::remove(server_->Folder("bucket") / "data/manifest-payments_00000.jsonl.json");
  std::filesystem::remove(server_->Folder("bucket") / "data/manifest.json");
  const auto again = RunOnce();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->progress.files_made, 1U);
  ExpectWhole();
}

TEST_F(BucketTest, SomebodyElsesObjectStays) {
  {
    const auto store = Connect();
    ASSERT_TRUE(WriteSmall(*store, "payments_00001.jsonl", "mine"));
  }
  const auto result = RunOnce();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Error::Code::kIncompatible);
  EXPECT_EQ(Contents(server_->Folder("bucket") / "data").at("payments_00001.jsonl"), "mine");
}

TEST_F(BucketTest, AStoppedRunGoesOn) {
  const auto stopped = RunOnce(1, [](const Progress&) { return false; });
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_EQ(Unfinished(), 0);
  const auto result = RunOnce();
  ASSERT_TRUE(result) << result.error().message;
  ExpectWhole();
}

TEST(PrefixOfDay, StandsBehindThePrefix) {
  EXPECT_EQ(PrefixOfDay("", {.year = 2025, .month = 1, .day = 9}), "2025/01/09");
  EXPECT_EQ(PrefixOfDay("a/b", {.year = 2025, .month = 12, .day = 31}), "a/b/2025/12/31");
}

}  // namespace
}  // namespace reveza::datagen

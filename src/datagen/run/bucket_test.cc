// Runs into a bucket of a real server, with all that can happen on the way there.
#include "datagen/run/bucket.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "datagen/output/hashing_sink.h"
#include "datagen/output/memory_sink.h"
#include "datagen/run/folder.h"
#include "datagen/run/runner.h"
#include "datagen/run/testing_model.h"
#include "datagen/run/testing_s3_server.h"

namespace reveza::datagen {
namespace {

using Kind = Fault::Kind;

constexpr uint64_t kRows = 130'000;
constexpr uint64_t kBlockRows = 110'000;  // the first file has two parts, the second one
constexpr std::size_t kMiB = std::size_t{1} << 20;
// Pauses short enough for a test, and more tries than faults.
constexpr StorePatience kPatience = {.first_pause = std::chrono::milliseconds(10),
                                     .longest_pause = std::chrono::milliseconds(200),
                                     .tries = 8,
                                     .first_tries = 2,
                                     .silence = std::chrono::seconds(20)};

// The library below can be begun once in a process, so all tests share it.
class Session final : public testing::Environment {
 public:
  void SetUp() override {
    auto begun = StoreSession::Begin(StoreAddress{.access_key = "any", .secret_key = "any"});
    ASSERT_TRUE(begun) << begun.error().message;
    session_ = *std::move(begun);
  }
  void TearDown() override {
    session_.reset();
    if (last_) {
      EXPECT_FALSE(std::filesystem::exists(last_->Folder("bucket") / "given-up"));
    }
    last_.reset();
  }
  StoreSession& get() { return *session_; }
  // A server that stays until after the library has ended.
  void KeepLast(std::unique_ptr<TestingS3Server> server) { last_ = std::move(server); }

 private:
  std::unique_ptr<StoreSession> session_;
  std::unique_ptr<TestingS3Server> last_;
};

Session& TheSession() {
  static auto* const session =
      static_cast<Session*>(testing::AddGlobalTestEnvironment(new Session));
  return *session;
}
const Session& session_before_all_tests = TheSession();

std::map<std::string, std::string> Contents(const std::filesystem::path& path) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    contents[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return contents;
}

Result<RunResult> RunInto(
    Destination& destination, uint64_t seed = 1,
    const OnProgress& on_progress = [](const Progress&) { return true; }) {
  const TestingModel model(seed, kRows, kBlockRows);
  const auto plan = Plan::Make(model, Format::kJsonLines, 0, Shard{});
  RunOptions options;
  options.table.format = Format::kJsonLines;
  options.configuration = "rows = 130000\n";
  options.threads = 2;
  options.made_by.program = "fraudgen 1";
  options.made_by.model = "testing";
  options.made_by.seed = seed;
  options.made_by.configuration = HashOf(options.configuration);
  options.made_by.SetOptions(options.table);
  return Run(model, *plan, options, destination, on_progress);
}

const std::map<std::string, std::string>& Whole() {
  static const auto contents = [] {
    const platform::TestingDirectory place;
    Folder folder(place / "data");
    EXPECT_TRUE(RunInto(folder));
    return Contents(place / "data");
  }();
  return contents;
}

// What a file says of a manifest that stands beside it, but for the store's own name of its bytes.
std::string WithoutEtag(std::string text) {
  const std::size_t at = text.find("  \"etag\"");
  if (at != std::string::npos) text.erase(at, text.find('\n', at) + 1 - at);
  return text;
}

class BucketTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!TestingS3Server::Have()) GTEST_SKIP() << TestingS3Server::kMissing;
    server_ = std::make_unique<TestingS3Server>();
  }

  std::unique_ptr<ObjectStore> Connect(StorePatience patience = kPatience) {
    auto store = TheSession().get().Connect(server_->Address("data"), patience);
    EXPECT_TRUE(store) << store.error().message;
    EXPECT_TRUE((*store)->List("data"));
    return *std::move(store);
  }
  Result<RunResult> RunOnce(
      uint64_t seed = 1, const OnProgress& on_progress = [](const Progress&) { return true; }) {
    const auto store = Connect();
    Bucket bucket(*store, server_->Address("data"));
    return RunInto(bucket, seed, on_progress);
  }
  void ExpectWhole() {
    auto contents = Contents(server_->Folder("bucket") / "data");
    for (auto& [name, text] : contents) {
      if (name.starts_with("manifest-")) {
        EXPECT_TRUE(text.contains("\"etag\": \"")) << text;
        text = WithoutEtag(text);
      }
    }
    EXPECT_TRUE(contents == Whole());
  }
  static Status WriteSmall(ObjectStore& store, const std::string& name, std::string_view text) {
    const auto sink = store.Create("data/" + name);
    if (!sink) return std::unexpected(sink.error());
    if (auto appended = (*sink)->Append(text); !appended) return appended;
    return (*sink)->Finish();
  }
  // Uploads that were begun and neither finished nor aborted, as the server keeps them.
  int Unfinished() const {
    int parts = 0;
    const auto kept = server_->Folder("bucket") / ".sgwtmp" / "multipart";
    if (!std::filesystem::exists(kept)) return 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kept)) {
      parts += entry.is_regular_file() ? 1 : 0;
    }
    return parts;
  }
  std::string RefusalOf(const StoreAddress& address, Error::Code code) {
    auto store = TheSession().get().Connect(address, kPatience);
    EXPECT_TRUE(store);
    Bucket bucket(**store, address);
    const auto result = RunInto(bucket);
    EXPECT_FALSE(result);
    if (result) return "";
    EXPECT_EQ(result.error().code, code);
    EXPECT_FALSE(result.error().message.contains('\n'));
    return result.error().message;
  }

  std::unique_ptr<TestingS3Server> server_;
};

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
  constexpr std::size_t kMost = ObjectStore::kParts * ObjectStore::kPartBytes;
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

// The other end went away, so the upload could not even be aborted; then it is back. Session checks
// again when the library has ended.
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
  TheSession().KeepLast(std::move(server_));
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

TEST(PrefixOfDay, StandsBehindThePrefix) {
  EXPECT_EQ(PrefixOfDay("", {.year = 2025, .month = 1, .day = 9}), "2025/01/09");
  EXPECT_EQ(PrefixOfDay("a/b", {.year = 2025, .month = 12, .day = 31}), "a/b/2025/12/31");
}

}  // namespace
}  // namespace reveza::datagen

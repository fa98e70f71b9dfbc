#include "fraudgen/run/testing_bucket.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "fraudgen/output/sinks.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/testing_model.h"

namespace reveza::fraudgen {
namespace {

// The S3 library can be initialised only once per process, so all tests share a session.
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
      EXPECT_FALSE(std::filesystem::exists(last_->Folder("bucket") / "data" / "abandoned"));
    }
    last_.reset();
  }
  StoreSession& get() { return *session_; }
  // Keeps a server running until the library has shut down.
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

}  // namespace

void BucketTest::SetUp() {
  if (!TestingS3Server::Available()) GTEST_SKIP() << TestingS3Server::kMissing;
  server_ = std::make_unique<TestingS3Server>();
}

std::unique_ptr<Destination> BucketTest::Connect(RetryPolicy retries) {
  auto store = TheSession().get().Connect(server_->Address("data"), retries);
  EXPECT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->List(""));
  return *std::move(store);
}

Result<RunResult> BucketTest::RunOnce(uint64_t seed, const OnProgress& on_progress) {
  const auto bucket = Connect();
  return RunInto(*bucket, seed, on_progress);
}

void BucketTest::ExpectComplete() {
  auto contents = platform::ContentsOf(server_->Folder("bucket") / "data");
  for (auto& [name, text] : contents) {
    if (IsFileManifest(name)) {
      EXPECT_TRUE(text.contains("\"etag\": \"")) << text;
      text = WithoutEtag(text);
    }
  }
  EXPECT_TRUE(contents == ExpectedContents());
}

Result<RunResult> BucketTest::RunInto(Destination& destination, uint64_t seed,
                                      const OnProgress& on_progress) {
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
  return fraudgen::Run(model, *plan, options, destination, on_progress);
}

int BucketTest::PendingUploads() const {
  int parts = 0;
  const auto kept = server_->Folder("bucket") / ".sgwtmp" / "multipart";
  if (!std::filesystem::exists(kept)) return 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kept)) {
    parts += entry.is_regular_file() ? 1 : 0;
  }
  return parts;
}

std::string BucketTest::ExpectError(const StoreAddress& address, Error::Code code) {
  const auto bucket = TheSession().get().Connect(address, kRetries);
  EXPECT_TRUE(bucket);
  const auto result = RunInto(**bucket);
  EXPECT_FALSE(result);
  if (result) return "";
  EXPECT_EQ(result.error().code, code);
  EXPECT_FALSE(result.error().message.contains('\n'));
  return result.error().message;
}

const std::map<std::string, std::string>& BucketTest::ExpectedContents() {
  static const auto contents = [] {
    const platform::TestingDirectory place;
    Folder folder(place / "data");
    EXPECT_TRUE(RunInto(folder));
    return platform::ContentsOf(place / "data");
  }();
  return contents;
}

std::string BucketTest::WithoutEtag(std::string text) {
  const std::size_t at = text.find("  \"etag\"");
  if (at != std::string::npos) text.erase(at, text.find('\n', at) + 1 - at);
  return text;
}

void BucketTest::KeepServer() { TheSession().KeepLast(std::move(server_)); }

}  // namespace reveza::fraudgen

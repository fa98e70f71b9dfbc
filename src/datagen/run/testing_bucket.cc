#include "datagen/run/testing_bucket.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "datagen/output/hashing_sink.h"
#include "datagen/run/folder.h"
#include "datagen/run/testing_model.h"

namespace reveza::datagen {
namespace {

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

}  // namespace

void BucketTest::SetUp() {
  if (!TestingS3Server::Have()) GTEST_SKIP() << TestingS3Server::kMissing;
  server_ = std::make_unique<TestingS3Server>();
}

std::unique_ptr<ObjectStore> BucketTest::Connect(StorePatience patience) {
  auto store = TheSession().get().Connect(server_->Address("data"), patience);
  EXPECT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->List("data"));
  return *std::move(store);
}

Result<RunResult> BucketTest::RunOnce(uint64_t seed, const OnProgress& on_progress) {
  const auto store = Connect();
  Bucket bucket(*store, server_->Address("data"));
  return RunInto(bucket, seed, on_progress);
}

void BucketTest::ExpectWhole() {
  auto contents = Contents(server_->Folder("bucket") / "data");
  for (auto& [name, text] : contents) {
    if (name.starts_with("manifest-")) {
      EXPECT_TRUE(text.contains("\"etag\": \"")) << text;
      text = WithoutEtag(text);
    }
  }
  EXPECT_TRUE(contents == Whole());
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
  return datagen::Run(model, *plan, options, destination, on_progress);
}

Status BucketTest::WriteSmall(ObjectStore& store, const std::string& name, std::string_view text) {
  const auto sink = store.Create("data/" + name);
  if (!sink) return std::unexpected(sink.error());
  if (auto appended = (*sink)->Append(text); !appended) return appended;
  return (*sink)->Finish();
}

int BucketTest::Unfinished() const {
  int parts = 0;
  const auto kept = server_->Folder("bucket") / ".sgwtmp" / "multipart";
  if (!std::filesystem::exists(kept)) return 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kept)) {
    parts += entry.is_regular_file() ? 1 : 0;
  }
  return parts;
}

std::string BucketTest::RefusalOf(const StoreAddress& address, Error::Code code) {
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

const std::map<std::string, std::string>& BucketTest::Whole() {
  static const auto contents = [] {
    const platform::TestingDirectory place;
    Folder folder(place / "data");
    EXPECT_TRUE(RunInto(folder));
    return Contents(place / "data");
  }();
  return contents;
}

std::map<std::string, std::string> BucketTest::Contents(const std::filesystem::path& path) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    contents[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return contents;
}

std::string BucketTest::WithoutEtag(std::string text) {
  const std::size_t at = text.find("  \"etag\"");
  if (at != std::string::npos) text.erase(at, text.find('\n', at) + 1 - at);
  return text;
}

void BucketTest::KeepServer() { TheSession().KeepLast(std::move(server_)); }

}  // namespace reveza::datagen

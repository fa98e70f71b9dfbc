// Group commit of the journal, with a clock that the test controls.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>

#include "common/platform/testing_clock.h"
#include "common/sqlite/sqlite.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_commits_test {

using namespace std::chrono_literals;
using EngineCommitsTest = EngineTest;

// The journal as another process sees it.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) {
    if (auto database = Database::Open(file)) database_.emplace(std::move(*database));
  }
  std::int64_t Ask(const char* question) {
    const auto number = database_ ? database_->Number(question) : Result<std::int64_t>(-1);
    EXPECT_TRUE(number) << number.error().message;
    return number.value_or(-1);
  }
  // Changes with each commit of another connection.
  std::int64_t Version() { return Ask("PRAGMA data_version"); }
  std::int64_t Attempts() { return Ask("SELECT count(*) FROM attempt"); }

 private:
  std::optional<Database> database_;
};

TEST_F(EngineCommitsTest, GroupsCommitsWithinFiftyMilliseconds) {
  constexpr int kSteps = 100;
  constexpr int kTogether = 20;
  platform::FakeClock clock;
  std::optional<Reader> reader;
  prepare_ = [&](EngineParts& parts) {
    parts.clock = &clock;
    reader.emplace(parts.folder.journal());
  };
  int ended = 0;
  std::set<std::int64_t> versions;
  listener_.on_end = [&](const AttemptResult&) {
    ++ended;
    versions.insert(reader->Version());
    const auto attempts = reader->Attempts();
    const int group = (ended - 1) / kTogether;
    // Two workers: two may end in one round of the loop, and the next round commits.
    if ((ended - 1) % kTogether >= 2) {
      EXPECT_GE(attempts, group * kTogether) << "the previous group is committed at " << ended;
    }
    EXPECT_LE(attempts, group * kTogether + 2) << "nothing of this group: " << ended;
    if (ended % kTogether == 0) clock.Advance(50ms);
  };
  EXPECT_EQ(Run(Shell("true", kSteps), Workers(2)).end, Engine::RunEnd::kDone);
  EXPECT_EQ(ended, kSteps);
  EXPECT_LE(versions.size(), std::size_t{kSteps / kTogether});
  EXPECT_GE(versions.size(), std::size_t{kSteps / kTogether - 1});
  EXPECT_EQ(reader->Attempts(), kSteps) << "everything at the end";
}

}  // namespace engine_commits_test
}  // namespace reveza::jobs

// `fraudgen demo`: makes a data set, checks it, asks it something and draws it, in about fifteen
// seconds. Only the page of its report stays.
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "commands.h"
#include "datagen/check/check.h"
#include "datagen/output/arrow_writer.h"
#include "datagen/output/file_sink.h"
#include "datagen/output/format.h"
#include "datagen/report/page.h"
#include "datagen/run/folder.h"
#include "exit_status.h"
#include "platform/runtime_paths.h"
#include "platform/stop_signals.h"
#include "progress_display.h"
#include "text.h"

namespace reveza::fraudgen {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kRows = 2'000'000;
constexpr uint64_t kRowsOfText = 200'000;  // which takes ten times the room
constexpr const char* kData = "data";

void Tell(std::string_view text) {
  std::fputs(fmt::format("{}\n", text).c_str(), stdout);
  std::fflush(stdout);
}

// As `reveza demo` has its titles.
std::string TitleLine(std::string_view title) {
  std::string line = fmt::format("== {} ", title);
  if (line.size() < 78) line.append(78 - line.size(), '=');
  return line;
}

// A folder beside the page, so that what is measured is that disk. We stand in it while it lasts,
// for then the commands that are shown are those that people would type.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& beside) : before_(fs::current_path()) {
    std::string name = (beside / ".fraudgen-demo-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return;
    path_ = name;
    fs::current_path(path_);
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  bool made() const { return !path_.empty(); }

 private:
  fs::path before_;
  fs::path path_;
};

double SecondsSince(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

// Writes what was made once more, as one file, synced. How many bytes that is.
Result<Bytes> WriteTheSame() {
  auto sink = datagen::FileSink::Create("same");
  if (!sink) return std::unexpected(std::move(sink).error());
  Bytes bytes = 0;
  std::vector<char> part(std::size_t{1} << 20);
  for (const auto& entry : fs::directory_iterator(kData)) {
    std::ifstream file(entry.path(), std::ios::binary);
    while (file) {
      file.read(part.data(), static_cast<std::streamsize>(part.size()));
      const auto got = static_cast<std::size_t>(file.gcount());
      if (auto appended = sink->Append({part.data(), got}); !appended) {
        return std::unexpected(std::move(appended).error());
      }
      bytes += got;
    }
  }
  if (auto finished = sink->Finish(); !finished) {
    return std::unexpected(std::move(finished).error());
  }
  fs::remove("same");
  return bytes;
}

int Make(const RunArguments& arguments, uint64_t rows) {
  Tell(fmt::format("$ fraudgen --rows {} --format {} --output {}", rows,
                   datagen::NameOf(arguments.settings.format), kData));
  const auto made_at = Clock::now();
  if (const int status = Generate(arguments); status != kDone) return status;
  const double made = SecondsSince(made_at);
  const auto written_at = Clock::now();
  const auto bytes = WriteTheSame();
  if (!bytes) return Say(bytes.error());
  const double written = SecondsSince(written_at);
  const auto rate = [&](double seconds) {
    return FormatSize(static_cast<Bytes>(static_cast<double>(*bytes) / seconds));
  };
  Tell(fmt::format(
      "\nThe disk alone takes the same {}, written and synced, at {}/s; made and packed\n"
      "they came at {}/s.\n",
      FormatSize(*bytes), rate(written), rate(made)));
  return kDone;
}

int Check(const RunArguments& arguments) {
  Tell(fmt::format("$ fraudgen check {}", kData));
  platform::StopSignals signals;
  const auto result = [&] {
    const Moments checking(arguments.quiet, "looking at every row");
    return datagen::check::CheckData(std::make_shared<datagen::Folder>(kData),
                                     [&](uint64_t) { return signals.Came() == 0; });
  }();
  if (!result) return Say(kUnreadable, result.error().message);
  if (result->stopped) return Say(kInterrupted, "stopped before all rows were looked at");
  using datagen::check::Outcome;
  constexpr auto kShown = std::to_array<std::string_view>(
      {"files: hashes", "keys: transactions.customer", "labels: ", "timeline: distance",
       "timeline: balance", "timeline: card", "shares: "});
  for (const Outcome& outcome : result->outcomes) {
    const bool shown = std::ranges::any_of(
        kShown, [&](std::string_view beginning) { return outcome.name.starts_with(beginning); });
    const bool wrong = outcome.verdict == Outcome::Verdict::kFinding;
    if (shown || wrong) Tell(fmt::format("{:<8}{}", wrong ? "WRONG" : "fine", outcome.name));
  }
  Tell(fmt::format("{} checks in all, {}\n", result->outcomes.size(),
                   result->findings == 0 ? "all fine" : fmt::format("{} wrong", result->findings)));
  return result->findings == 0 ? kDone : kFindings;
}

// Whether somebody else's program ran to its end; what it prints is seen.
bool RunProgram(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words[0], nullptr, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  int status = 0;
  return failed == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

void Ask(const RunArguments& arguments) {
  const std::string query = fmt::format(
      "SELECT fraud_type, fraud_role, count(*) AS frauds, round(avg(amount), 2) AS amount\n"
      "  FROM '{}/transactions_*.{}' WHERE is_fraud\n"
      "  GROUP BY ALL ORDER BY frauds DESC, amount LIMIT 5",
      kData, datagen::NameOf(arguments.settings.format));
  Tell(fmt::format("$ duckdb -c \"{}\"", query));
  constexpr const char* kScript =
      "import sys\n"
      "try:\n"
      "    import duckdb\n"
      "except ImportError:\n"
      "    sys.exit(3)\n"
      "duckdb.sql('SET enable_progress_bar = false')\n"
      "duckdb.sql(sys.argv[1]).show()\n";
  // That of the build tree has what the tests read with.
  const fs::path built = platform::ProgramFolder().parent_path() / "python/bin/python3";
  for (const std::string& python : {built.string(), std::string("python3")}) {
    if (RunProgram({python, "-c", kScript, query})) return;
  }
  Tell("No DuckDB here, so nobody answers; `pip install duckdb` brings it.\n");
}

int Draw(const RunArguments& arguments, const std::string& page) {
  if (!datagen::report::HavePage()) {
    Tell("No report: this fraudgen was built without the chart library (see tools/setup.sh).\n");
    return kDone;
  }
  Tell(fmt::format("$ fraudgen report {} -o {}", kData, page));
  RunArguments report = arguments;
  report.output = page;
  const int status = WriteReport(report, kData, "en");
  Tell("");
  return status;
}

constexpr const char* kMeaning =
    R"(What it means: made-up customers lived through a year. Their balances, distances
and histories are true, thieves robbed some of them, and each row says so. The
same command gives the same bytes on any machine.

With your own numbers:
  fraudgen plan --size 100GB --format parquet     how many files and rows, how long
  fraudgen --size 10GB --format parquet --output data
  fraudgen --help                                 buckets, shards, streams, settings)";

int Play(RunArguments arguments, const std::string& page) {
  const bool columns = datagen::HaveArrow();
  const uint64_t rows = arguments.settings.rows.value_or(columns ? kRows : kRowsOfText);
  arguments.settings.rows = rows;
  arguments.settings.size.reset();
  arguments.settings.format = columns ? datagen::Format::kParquet : datagen::Format::kJsonLines;
  arguments.output = kData;
  arguments.json = false;
  Tell(TitleLine("A bank of made-up customers, and who robs them"));
  Tell("fraudgen makes up bank data with labelled fraud.\n");
  if (!columns) {
    Tell("This fraudgen was built without Arrow, so: lines of JSON, and fewer rows.\n");
  }
  if (const int status = Make(arguments, rows); status != kDone) return status;
  if (const int status = Check(arguments); status != kDone) return status;
  Ask(arguments);
  if (const int status = Draw(arguments, page); status != kDone) return status;
  Tell(kMeaning);
  return kDone;
}

}  // namespace

int Demo(const RunArguments& arguments) {
  std::error_code error;
  const fs::path page = fs::absolute(arguments.output, error);
  if (error || page.filename().empty() || fs::is_directory(page, error)) {
    return Say(kUsage,
               fmt::format("--output: {} is no file that the report can become", arguments.output));
  }
  const WorkFolder folder(page.parent_path());
  if (!folder.made()) {
    return Say(kPermission, fmt::format("cannot make a folder in {}; name a page elsewhere with "
                                        "--output",
                                        page.parent_path().string()));
  }
  return Play(arguments, page.string());
}

}  // namespace reveza::fraudgen

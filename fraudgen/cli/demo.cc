// `fraudgen demo`: generates, checks, queries and plots a data set in about fifteen seconds. Only
// the report remains.
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

#include "common/base/exec_arguments.h"
#include "common/platform/runtime_paths.h"
#include "common/platform/temporary_folder.h"
#include "common/table/arrow.h"
#include "fraudgen/check/check.h"
#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/terminal.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/report/facts.h"
#include "fraudgen/run/folder.h"

namespace reveza::fraudgen::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kRows = 2'000'000;
constexpr uint64_t kTextRows = 200'000;  // text takes ten times the space
constexpr const char* kData = "data";

void Print(std::string_view text) {
  std::fputs(fmt::format("{}\n", text).c_str(), stdout);
  std::fflush(stdout);
}

// In the style of `reveza demo`.
std::string TitleLine(std::string_view title) {
  std::string line = fmt::format("== {} ", title);
  if (line.size() < 78) line.append(78 - line.size(), '=');
  return line;
}

// A temporary folder beside the report, so that the same disk is measured. The working directory
// for its lifetime, so that the printed commands can be copied.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& beside)
      : before_(fs::current_path()), folder_(beside, ".fraudgen-demo-") {
    if (created()) fs::current_path(folder_.path());
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  bool created() const { return !folder_.path().empty(); }

 private:
  fs::path before_;
  platform::TemporaryFolder folder_;
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Copies the data to one file and syncs it. Returns its size.
Result<Bytes> WriteCopy() {
  ASSIGN_OR_RETURN(auto sink, FileSink::Create("copy"));
  Bytes bytes = 0;
  std::vector<char> part(std::size_t{1} << 20);
  for (const auto& entry : fs::recursive_directory_iterator(kData)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    while (file) {
      file.read(part.data(), static_cast<std::streamsize>(part.size()));
      const auto got = static_cast<std::size_t>(file.gcount());
      RETURN_IF_ERROR(sink.Append({part.data(), got}));
      bytes += got;
    }
  }
  RETURN_IF_ERROR(sink.Finish());
  fs::remove("copy");
  return bytes;
}

int GenerateData(const RunArguments& arguments, uint64_t rows) {
  Print(fmt::format("$ fraudgen --rows {} --format {} --output {}", rows,
                    NameOf(arguments.settings.format), kData));
  const auto made_at = Clock::now();
  if (const int status = Generate(arguments); status != kDone) return status;
  const double made = SecondsSince(made_at);
  const auto written_at = Clock::now();
  const auto bytes = WriteCopy();
  if (!bytes) return ReportError(bytes.error());
  const double written = SecondsSince(written_at);
  const auto rate = [&](double seconds) {
    return FormatSize(static_cast<Bytes>(static_cast<double>(*bytes) / seconds));
  };
  Print(fmt::format(
      "\nFor comparison: writing and syncing the same {} alone runs at {}/s; generating,\n"
      "encoding and writing ran at {}/s.\n",
      FormatSize(*bytes), rate(written), rate(made)));
  return kDone;
}

int Check(const RunArguments& arguments) {
  Print(fmt::format("$ fraudgen check {}", kData));
  using check::Outcome;
  return CheckData(arguments, kData, [&](const check::CheckResult& result) {
    for (const Outcome& outcome : result.outcomes) {
      Print(fmt::format("{}  {}", check::LabelOf(outcome.verdict), outcome.name));
    }
    Print(check::SummaryOf(result) + "\n");
  });
}

// Runs a program with our standard output. Returns true if it exited with 0.
bool RunProgram(const std::vector<std::string>& command) {
  const std::vector<char*> words = ExecArguments(command);
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

void Query(const RunArguments& arguments) {
  const std::string query = fmt::format(
      "SELECT fraud_type, fraud_role, count(*) AS frauds, round(avg(amount), 2) AS amount\n"
      "  FROM '{}/transactions/*.{}' WHERE is_fraud\n"
      "  GROUP BY ALL ORDER BY frauds DESC, amount LIMIT 5",
      kData, NameOf(arguments.settings.format));
  Print(fmt::format("$ duckdb -c \"{}\"", query));
  constexpr const char* kScript =
      "import sys\n"
      "try:\n"
      "    import duckdb\n"
      "except ImportError:\n"
      "    sys.exit(3)\n"
      "duckdb.sql('SET enable_progress_bar = false')\n"
      "duckdb.sql(sys.argv[1]).show()\n";
  // The interpreter of the build tree has the packages that tests need.
  const fs::path built = platform::ProgramFolder().parent_path() / "python/bin/python3";
  for (const std::string& python : {built.string(), std::string("python3")}) {
    if (RunProgram({python, "-c", kScript, query})) return;
  }
  Print("Skipped: DuckDB is not installed; `pip install duckdb` installs it.\n");
}

int WriteDemoReport(const RunArguments& arguments, const std::string& page) {
  if (!report::HavePage()) {
    Print("Skipped the report: built without the chart library (see tools/setup.sh).\n");
    return kDone;
  }
  Print(fmt::format("$ fraudgen report {} -o {}", kData, page));
  RunArguments report = arguments;
  report.output = page;
  const int status = WriteReport(report, kData, "en");
  Print("");
  return status;
}

constexpr const char* kSummary =
    R"(About the data: synthetic customers lived through a year. Balances, distances and
histories are consistent, some customers became victims of fraud, and every row is
labelled. The same command produces the same bytes on any machine.

Next steps:
  fraudgen plan --size 100GB --format parquet     files, rows and time
  fraudgen --size 10GB --format parquet --output data
  fraudgen --help                                 buckets, shards, streams, settings)";

int RunDemo(RunArguments arguments, const std::string& page) {
  const bool columns = kHaveArrow;
  const uint64_t rows = arguments.settings.rows.value_or(columns ? kRows : kTextRows);
  arguments.settings.rows = rows;
  arguments.settings.size.reset();
  arguments.settings.format = columns ? Format::kParquet : Format::kJsonLines;
  arguments.output = kData;
  arguments.json = false;
  Print(TitleLine("Synthetic bank data with labelled fraud"));
  if (!columns) {
    Print("Built without Arrow: using JSON lines and fewer rows.\n");
  }
  if (const int status = GenerateData(arguments, rows); status != kDone) return status;
  if (const int status = Check(arguments); status != kDone) return status;
  Query(arguments);
  if (const int status = WriteDemoReport(arguments, page); status != kDone) return status;
  Print(kSummary);
  return kDone;
}

}  // namespace

int Demo(const RunArguments& arguments) {
  std::error_code error;
  const fs::path page = fs::absolute(arguments.output, error);
  if (error || page.filename().empty() || fs::is_directory(page, error)) {
    return ReportError(kUsage,
                       fmt::format("--output: {} cannot be created as a file", arguments.output));
  }
  const WorkFolder folder(page.parent_path());
  if (!folder.created()) {
    return ReportError(kPermission,
                       fmt::format("cannot create a folder in {}; choose another --output",
                                   page.parent_path().string()));
  }
  return RunDemo(arguments, page.string());
}

}  // namespace reveza::fraudgen::cli

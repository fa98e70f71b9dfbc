// `reveza jobs report`.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/jobs/report/job_page.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;

// Returns the end of a file, from the beginning of a line; empty if it cannot be read.
std::string EndOfFile(const fs::path& path) {
  constexpr std::streamoff kMaxBytes = 2000;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kMaxBytes));
  std::string text(static_cast<std::size_t>(std::min(size, kMaxBytes)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (size > kMaxBytes) text.erase(0, text.find('\n') + 1);
  return text;
}

std::vector<jobs::FailureOutput> OutputsOfFailures(const std::vector<jobs::StepEntry>& steps,
                                                   const fs::path& outputs) {
  std::vector<jobs::FailureOutput> failures;
  for (std::size_t i = 0; i < steps.size() && failures.size() < jobs::kMaxPageFailures; ++i) {
    const auto state = steps[i].state;
    if (state == jobs::StepState::kWaiting || state == jobs::StepState::kDone) continue;
    failures.push_back({i + 1, EndOfFile(outputs / (steps[i].files + ".err"))});
  }
  return failures;
}

std::string LocalTime() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

// Replaces the file at once, so that a browser never reads half of it.
Status Replace(const fs::path& path, const std::string& text) {
  const auto fail = [&](int error) {
    return Fail(Error::Code::kPermission, "cannot write {}: {}; choose a writable path",
                path.string(), std::generic_category().message(error));
  };
  fs::path part = path;
  part += ".part";
  std::FILE* file = std::fopen(part.c_str(), "we");
  if (file == nullptr) return fail(errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  const bool closed = std::fclose(file) == 0;
  if (written && closed && std::rename(part.c_str(), path.c_str()) == 0) return {};
  const int last = written ? errno : error;
  std::remove(part.c_str());
  return fail(last);
}

}  // namespace

Result<int> ReportOfJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  ASSIGN_OR_RETURN(auto journal, jobs::Journal::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto steps, journal.List());
  const auto kept = journal.Get(jobs::kOutputsKey);
  const fs::path outputs = kept && *kept ? fs::path(**kept) : folder.outputs();
  jobs::JobPageInput input;
  input.id = folder.id();
  input.now = LocalTime();
  ASSIGN_OR_RETURN(input.running, folder.IsLocked());
  ASSIGN_OR_RETURN(input.steps, jobs::MakeStepTable(journal, steps));
  input.outputs = OutputsOfFailures(steps, outputs);
  RETURN_IF_ERROR(Replace(arguments.output, jobs::JobPage(input)));
  fmt::print("{}\n", arguments.output);
  return std::fflush(stdout) == 0 ? kDone : kOutput;
}

}  // namespace reveza::cli

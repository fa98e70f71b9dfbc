// `reveza jobs run-task`: what a task of an array runs on a node.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "common/base/parse_number.h"
#include "common/base/read_file.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/cli/reveza/jobs/jobs_display.h"
#include "reveza/cli/reveza/jobs/run_parts.h"
#include "reveza/jobs/cluster/arrays.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/open_job.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;

// Returns how many tasks the array has.
std::uint32_t CountTasks(const fs::path& array) {
  std::uint32_t count = 0;
  std::error_code ignored;
  while (fs::exists(jobs::TaskPlace{array, {count + 1, count + 1}}.file(), ignored)) ++count;
  return count;
}

jobs::RunRequest RequestOf(const jobs::TaskPlace& place, jobs::RunRequest request) {
  request.workers = 1;
  request.memory_retries = 0;  // with more memory, in another task
  request.retry_failed = true;
  request.memory_reserve = 0;  // the task has what its steps claim
  request.shard = place.shard;
  request.export_folder = place.array;
  request.export_interval = std::chrono::seconds(10);
  request.output_folder = place.outputs();
  request.quiet = true;
  return request;
}

// Keeps the records of supervisors in the shared folder: what has ended is known there at once, and
// outlives the node.
Status ShareRecords(const jobs::TaskPlace& place, const fs::path& job_folder) {
  std::error_code error;
  fs::create_directories(job_folder, error);
  fs::create_directories(place.records(), error);
  if (!error && !fs::exists(job_folder / "records", error)) {
    fs::create_directory_symlink(place.records(), job_folder / "records", error);
  }
  if (!error) return {};
  return Fail(Error::Code::kPermission, "cannot create {} or {}: {}", place.records().string(),
              job_folder.string(), error.message());
}

// Lets attempts and cycles go on from where they are at home.
Status Continue(const jobs::TaskFile& task, jobs::OpenedJob& opened) {
  auto& list = opened.parts.list;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto& known = task.known[i];
    list[i].attempts = std::max(list[i].attempts, known.attempts);
    for (std::uint64_t cycle = 1; cycle <= known.cycles; ++cycle) {
      ASSIGN_OR_RETURN(const bool added,
                       opened.parts.journal.RecordCycle(
                           {{known.identity, known.attempts}, cycle, jobs::WallNow(), ""}));
      static_cast<void>(added);
    }
  }
  return {};
}

}  // namespace

Result<int> RunTask(int argc, char** argv) {
  const auto number = argc == 4 ? ParseNumber<std::uint32_t>(argv[2]) : std::nullopt;
  if (!number) {
    return InvalidArgument("`reveza jobs run-task` is for the tasks of `reveza jobs run --on`");
  }
  const fs::path array = argv[1];
  const fs::path state = argv[3];
  const jobs::TaskPlace place{array, {*number, CountTasks(array)}};
  const auto text = ReadFile(place.file());
  if (!text) {
    return Fail(text.error().code, "{}; does this node see the folder of --shared?",
                text.error().message);
  }
  ASSIGN_OR_RETURN(auto task, jobs::ParseTask(*text));
  const std::string name = task.job.name;
  // Unique among the tasks on this node.
  task.job.name += fmt::format(".{}.{}", array.filename().string().substr(6), *number);
  const auto request = RequestOf(place, task.request);
  RETURN_IF_ERROR(ShareRecords(place, state / "jobs" / task.job.name));
  ASSIGN_OR_RETURN(const auto supervisor, FindSupervisor());
  ASSIGN_OR_RETURN(auto expander, jobs::Expander::Make(task.job));
  std::vector<jobs::Identity> identities;
  for (const auto& known : task.known) identities.push_back(known.identity);
  ASSIGN_OR_RETURN(auto opened,
                   jobs::OpenJob(state, task.job, expander, request, supervisor, identities));
  if (jobs::IsRevoked(place)) {
    fmt::print(stderr, "reveza: this task starts too late: its steps were handed to another\n");
    return kDone;
  }
  for (const auto& note : opened.notes) fmt::print(stderr, "reveza: {}\n", note);
  task.job.name = name;  // as steps see it
  RETURN_IF_ERROR(Continue(task, opened));
  ShareGpus(opened.parts);
  JobsDisplay display(task.job, request, place.outputs());
  const auto summary = jobs::Engine(std::move(opened.parts), display).Run();
  display.Finish();
  if (!summary) return std::unexpected(summary.error());
  return summary->end == jobs::RunEnd::kDone          ? kDone
         : summary->end == jobs::RunEnd::kInterrupted ? kInterrupted
                                                      : kFailedSteps;
}

}  // namespace reveza::cli

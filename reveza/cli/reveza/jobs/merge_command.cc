// `reveza jobs merge`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "common/base/units.h"
#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/cli/reveza/jobs/job_summary.h"
#include "reveza/jobs/definition/shard.h"
#include "reveza/jobs/journal/merge_journals.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using jobs::StepState;

struct ExportedShard {
  fs::path copy;
  jobs::Shard shard;
};

// Returns the copies in the folders, in order of their names. kInvalidArgument: a folder has none.
Result<std::vector<ExportedShard>> FindExports(const std::vector<std::string>& folders) {
  std::vector<ExportedShard> found;
  for (const fs::path folder : folders) {
    const std::size_t before = found.size();
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const auto shard = jobs::ParseShardName(entry.path().stem().string());
      if (entry.path().extension() == ".db" && shard) found.push_back({entry.path(), *shard});
    }
    if (error) return InvalidArgument("cannot read {}: {}", folder.string(), error.message());
    if (found.size() > before) continue;
    return InvalidArgument("{} has no shard-I-of-N.db, as `reveza jobs run --export` writes them",
                           folder.string());
  }
  std::ranges::sort(found, {}, &ExportedShard::copy);
  return found;
}

// Prints which shards of the largest number are not there.
void PrintMissing(const std::vector<ExportedShard>& exports) {
  std::set<std::uint32_t> known;
  std::uint32_t count = 0;
  for (const auto& [copy, shard] : exports) {
    count = std::max(count, shard.count);
    known.insert(shard.index);
  }
  std::vector<std::uint32_t> missing;
  for (std::uint32_t index = 1; index <= count; ++index) {
    if (!known.contains(index)) missing.push_back(index);
  }
  if (missing.empty()) return;
  fmt::print("not there: shard {} of {}\n", fmt::join(missing, ", "), count);
}

void PrintDuplicates(const std::vector<std::string>& labels) {
  constexpr std::size_t kMaxShown = 20;
  if (labels.empty()) return;
  const std::vector<std::string> shown(
      labels.begin(),
      labels.begin() + static_cast<std::ptrdiff_t>(std::min(labels.size(), kMaxShown)));
  fmt::print(
      "done more than once, of which the first counts: {}{}\n", fmt::join(shown, ", "),
      labels.size() > kMaxShown ? fmt::format(" and {} more", labels.size() - kMaxShown) : "");
}

}  // namespace

Result<int> MergeShards(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto exports, FindExports(arguments.folders));
  ASSIGN_OR_RETURN(const auto state, platform::StateHome(platform::ProcessEnvironment));
  ASSIGN_OR_RETURN(const auto folder, jobs::JobFolder::Create(state, arguments.job));
  ASSIGN_OR_RETURN(const auto lock, folder.Lock());
  ASSIGN_OR_RETURN(auto journal, jobs::Journal::Open(folder.journal()));
  jobs::MergeResult all;
  for (const auto& [copy, shard] : exports) {
    ASSIGN_OR_RETURN(auto reader, jobs::JournalReader::Open(copy));
    const fs::path outputs = copy.parent_path() / NameOf(shard);
    auto merged = jobs::MergeJournal(reader, fs::absolute(outputs), journal);
    if (!merged) {
      return Fail(merged.error().code, "{}: {}; shards before it are merged", copy.string(),
                  merged.error().message);
    }
    all.steps += merged->steps;
    all.attempts += merged->attempts;
    all.duplicates.insert(all.duplicates.end(), merged->duplicates.begin(),
                          merged->duplicates.end());
  }
  std::error_code ignored;
  fs::copy_file(exports.front().copy.parent_path() / "commands.json", folder.commands(),
                fs::copy_options::skip_existing, ignored);
  RETURN_IF_ERROR(journal.Checkpoint());
  ASSIGN_OR_RETURN(auto merged, jobs::JournalReader::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto job, SummarizeJob(folder, merged));
  fmt::print("{} merged into {}: {} new, {} new; {} of {} done, {} failed\n",
             Plural(exports.size(), "shard"), folder.id(), Plural(all.steps, "step"),
             Plural(all.attempts, "attempt"), job.Count(StepState::kDone), job.AllSteps(),
             job.Count(StepState::kFailed));
  PrintDuplicates(all.duplicates);
  PrintMissing(exports);
  return kDone;
}

}  // namespace reveza::cli

// Copies the journal of a shard to a folder that other machines see: every half minute, or as often
// as the request says, and when the run ends. What a machine had done until then outlives it. Not
// thread-safe.
//
//   FOLDER/shard-2-of-8.db      the copy, replaced as a whole
//   FOLDER/shard-2-of-8.owner   host and process that run the shard; touched with each copy
//   FOLDER/shard-2-of-8/        outputs of its steps
//   FOLDER/commands.json        the commands of the job
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "reveza/jobs/definition/run_request.h"
#include "reveza/jobs/definition/shard.h"
#include "reveza/jobs/engine/owner_file.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

class ShardExport {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  // Claims the shard, creating the folder if necessary. kUnavailable: another runner has it.
  // `interval`: between copies.
  static Result<ShardExport> Claim(const std::filesystem::path& folder, const Shard& shard,
                                   Nanoseconds interval = std::chrono::seconds(30));

  // Returns the file that names the owner of a shard.
  static std::filesystem::path OwnerOf(const std::filesystem::path& folder, const Shard& shard);

  std::filesystem::path copy() const { return WithSuffix(".db"); }
  std::filesystem::path outputs() const { return WithSuffix(""); }

  bool IsDue(Nanoseconds now) const { return now >= next_; }
  // Copies the committed journal of the job in `job`.
  Status Write(const JobFolder& job, Journal& journal, Nanoseconds now);

 private:
  ShardExport(std::filesystem::path folder, std::string name, Nanoseconds interval, OwnerFile owner)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        interval_(interval),
        owner_(std::move(owner)) {}

  std::filesystem::path WithSuffix(const char* suffix) const { return folder_ / (name_ + suffix); }

  std::filesystem::path folder_;
  std::string name_;
  Nanoseconds interval_;
  OwnerFile owner_;
  Nanoseconds next_{0};
  std::int64_t copied_ = -1;  // last sequence of the last copy
};

// Claims the shard that the request exports, and merges what another machine has done of it if this
// one has done nothing. Returns nullopt if the request exports none.
Result<std::optional<ShardExport>> PrepareExport(const RunRequest& request, Journal& journal);

}  // namespace reveza::jobs

// The listed steps of a job as a runner keeps them: 32 bytes for each, as a job may have a million.
// Labels follow from the job, and the paths of most outputs from the ids. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

struct StepStatus {
  std::int64_t id = 0;  // in the journal
  Identity identity{};
  std::uint32_t attempts = 0;  // number of the last attempt
  StepState state = StepState::kWaiting;
};

class StepList {
 public:
  StepList() = default;
  // Makes the list of steps that were just added to an empty journal.
  explicit StepList(std::span<const Identity> identities);
  // Reads the list of a journal.
  static Result<StepList> Read(Journal& journal);

  void Add(const StepEntry& entry);
  void Set(std::uint32_t step, const StepEntry& entry);
  // Changes the output path of a step.
  void SetFiles(std::uint32_t step, const std::string& files);
  // Drops the steps from `size` on.
  void Truncate(std::size_t size);

  std::size_t size() const { return steps_.size(); }
  bool empty() const { return steps_.empty(); }
  StepStatus& operator[](std::size_t step) { return steps_[step]; }
  const StepStatus& operator[](std::size_t step) const { return steps_[step]; }
  auto begin() const { return steps_.begin(); }
  auto end() const { return steps_.end(); }

  // Returns the output path of a step without extension.
  std::string FilesOf(std::uint32_t step) const;
  // Finds a step by its identity. Sorts the steps when asked first.
  std::optional<std::uint32_t> Find(const Identity& identity) const;

 private:
  std::vector<StepStatus> steps_;
  std::map<std::uint32_t, std::string> other_files_;  // where they do not follow from the id
  mutable std::vector<std::uint32_t> by_identity_;    // as of the last Find()
};

}  // namespace reveza::jobs

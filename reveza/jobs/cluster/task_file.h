// The steps of one task of an array, as the runner at home writes them for the runner on a node: a
// job of its own, with the identities that its steps have at home. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/run_request.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

struct TaskFile {
  struct Known {
    Identity identity{};
    std::uint32_t attempts = 0;  // made so far; the next one has the next number
    std::uint64_t cycles = 0;    // 1..cycles are done
  };
  Job job;                   // steps have their numbers in the whole job, and depend on nothing
  std::vector<Known> known;  // of each step
  RunRequest request;        // without folders
};

std::string FormatTask(const TaskFile& task);
// kIncompatible: not written by FormatTask(), or by another version.
Result<TaskFile> ParseTask(std::string_view text);

// Removes commands that no step refers to.
void KeepUsedCommands(Job& job);

}  // namespace reveza::jobs

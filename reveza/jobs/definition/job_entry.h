// Parses the keys of one entry of a job file. Pure functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/settings/document.h"
#include "reveza/jobs/definition/job.h"

namespace reveza::jobs {

// One of `steps`, or the top level of the file. Nodes point into the parsed document.
struct JobEntry {
  std::string name;
  Command command;
  std::uint64_t chain = 0;
  SourceLocation chain_location;
  const Node* run = nullptr;
  const Node* parameters = nullptr;
  const Node* linked = nullptr;
  const Node* after = nullptr;
  SourceLocation location;
  std::vector<std::uint32_t> dependencies;  // indices of entries
  std::uint32_t first_step = 0, steps = 0;
};

// Returns whether the node is a string, number or boolean.
bool IsScalar(const Node& node);

// The file that an entry is from: errors call it `name`, relative folders are resolved against
// `folder`. Both must outlive it.
struct JobSource {
  std::string_view name;
  const std::filesystem::path& folder;
};

// Stores a key's value in the entry. kInvalidArgument: unknown key or invalid value, with its
// location and the expected form.
Status ReadJobKey(const JobSource& source, const Member& member, bool in_steps, JobEntry& entry);

// Returns a string, or an array of strings.
Result<std::vector<std::string>> ReadStrings(const JobSource& source, const Member& member);

}  // namespace reveza::jobs

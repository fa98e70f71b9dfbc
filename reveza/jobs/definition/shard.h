// A part of a job's steps, for one of several machines. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

struct Shard {
  std::uint32_t index = 1;  // from 1
  std::uint32_t count = 1;

  bool operator==(const Shard&) const = default;
};

// Parses "2/8". kInvalidArgument states the form.
Result<Shard> ParseShard(std::string_view text);

// Returns "shard-2-of-8", which names its files.
std::string NameOf(const Shard& shard);
// Parses what NameOf() returns.
Result<Shard> ParseShardName(std::string_view name);

// Removes the steps of other shards, and their identities. Steps keep their numbers. Which shard a
// step belongs to follows from its identity alone, so that a longer list leaves the others where
// they are; steps that depend on each other belong together, where the first of them does.
void SelectShard(const Shard& shard, Job& job, std::vector<Identity>& identities);

}  // namespace reveza::jobs

// Attempts as bytes: the same in a record and on the way from a supervisor to its runner.
// Part of the supervisor: libc and header-only C++ only.
#pragma once

#include "runner/supervisor/attempt.h"
#include "runner/supervisor/packing.h"

namespace reveza::runner {

inline void Pack(Packer& packer, const AttemptName& name) {
  packer.Add(name.identity).Add(name.attempt);
}

inline AttemptName TakeName(Unpacker& unpacker) {
  AttemptName name;
  name.identity = unpacker.Take<Identity>();
  name.attempt = unpacker.Take<std::uint32_t>();
  return name;
}

inline void Pack(Packer& packer, const CycleResult& cycle) {
  Pack(packer, cycle.name);
  packer.Add(cycle.number).Add(cycle.at).Add(std::string_view(cycle.metrics));
}

inline CycleResult TakeCycle(Unpacker& unpacker) {
  CycleResult cycle;
  cycle.name = TakeName(unpacker);
  cycle.number = unpacker.Take<std::uint64_t>();
  cycle.at = unpacker.Take<WallTime>();
  cycle.metrics = unpacker.TakeText();
  return cycle;
}

inline void Pack(Packer& packer, const AttemptResult& result) {
  Pack(packer, result.name);
  packer.Add(result.outcome).Add(result.code).Add(result.pid).Add(result.began).Add(result.ended);
  packer.Add(result.paused).Add(result.user_time).Add(result.system_time);
  packer.Add(result.largest_resident).Add(result.output_bytes).Add(result.error_bytes);
}

// An outcome that nobody defined is the caller's to refuse.
inline AttemptResult TakeResult(Unpacker& unpacker) {
  AttemptResult result;
  result.name = TakeName(unpacker);
  result.outcome = unpacker.Take<Outcome>();
  result.code = unpacker.Take<std::int32_t>();
  result.pid = unpacker.Take<std::int32_t>();
  result.began = unpacker.Take<WallTime>();
  result.ended = unpacker.Take<WallTime>();
  result.paused = unpacker.Take<std::int64_t>();
  result.user_time = unpacker.Take<std::int64_t>();
  result.system_time = unpacker.Take<std::int64_t>();
  result.largest_resident = unpacker.Take<std::uint64_t>();
  result.output_bytes = unpacker.Take<std::uint64_t>();
  result.error_bytes = unpacker.Take<std::uint64_t>();
  return result;
}

}  // namespace reveza::runner

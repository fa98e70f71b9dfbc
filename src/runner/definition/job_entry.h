// What one of the steps of a job file says of itself, key by key.
// Thread-safety: a JobEntryReader is constant, and may be used by many threads.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runner/definition/document.h"
#include "runner/job.h"

namespace reveza::runner {

// One of `steps`, or the whole file. The nodes are those of the document that it was read from.
struct JobEntry {
  std::string name;
  Command command;
  std::uint64_t chain = 0;
  Place chain_place;
  const Node* run = nullptr;
  const Node* parameters = nullptr;
  const Node* linked = nullptr;
  const Node* after = nullptr;
  Place place;
  std::vector<std::uint32_t> waits_for;  // entries
  std::uint32_t first_step = 0, steps = 0;
};

// Whether it is a text, a number, true or false.
bool IsSingle(const Node& node);

class JobEntryReader {
 public:
  // `name` is what errors call the file; relative folders begin in `folder`. Both must live as long
  // as this.
  JobEntryReader(std::string_view name, const std::filesystem::path& folder)
      : name_(name), folder_(folder) {}

  // Takes a key with its value into the entry. kInvalidArgument: it is not known, or its value is
  // wrong, with the place and what would be right.
  Status ReadKey(JobEntry& entry, const Member& member, bool in_steps) const;

  // A text; a text or a list of them.
  Result<std::string> Text(const Member& member) const;
  Result<std::vector<std::string>> Texts(const Member& member) const;

 private:
  struct Key;
  static const std::array<Key, 17> kKeys;

  std::unexpected<Error> UnknownKey(const Member& member, bool in_steps) const;
  Result<std::uint64_t> Whole(const Member& member, std::uint64_t least) const;
  template <typename Value>
  Status Measure(const Member& member, Result<Value> (*parse)(std::string_view),
                 std::optional<Value>& target, std::string_view example) const;
  template <typename Value>
  static Status Assign(Result<Value> value, Value& target);

  Status Name(JobEntry& entry, const Member& member) const;
  Status Environment(JobEntry& entry, const Member& member) const;
  Status Variables(JobEntry& entry, const Member& member) const;
  Status Inputs(JobEntry& entry, const Member& member) const;
  Status Folder(JobEntry& entry, const Member& member) const;
  Status TimeLimit(JobEntry& entry, const Member& member) const;
  Status Priority(JobEntry& entry, const Member& member) const;
  Status Cpus(JobEntry& entry, const Member& member) const;
  Status Memory(JobEntry& entry, const Member& member) const;
  Status GpuMemory(JobEntry& entry, const Member& member) const;
  Status CycleCount(JobEntry& entry, const Member& member) const;
  Status Chain(JobEntry& entry, const Member& member) const;
  Status Shell(JobEntry& entry, const Member& member) const;

  std::string_view name_;
  const std::filesystem::path& folder_;
};

}  // namespace reveza::runner

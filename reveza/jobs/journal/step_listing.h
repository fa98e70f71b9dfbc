// What the list of a job's steps does not tell of each of them: its command and its parameters. A
// label such as "a=1 b=2" may be one parameter or two. Kept in the journal, small: most steps need
// only the names of their parameters. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

using ParameterPairs = std::vector<std::pair<std::string, std::string>>;  // names and values

class StepListing {
 public:
  // Of all steps of a job, in order.
  static StepListing Of(const Job& job);
  // Returns that of the journal's list; nullopt if it has none, or one of another list, as merged
  // journals and those of earlier versions.
  static Result<std::optional<StepListing>> Read(Journal& journal, std::size_t steps);

  // Appends a step of `job`, which must not change meanwhile. Commands that run the same count as
  // one.
  void Add(const Job& job, std::size_t step);
  // Writes it if it has changed.
  Status WriteTo(Journal& journal) const;

  std::size_t size() const { return ends_.empty() ? 0 : ends_.back().first; }
  bool HasSeveralCommands() const;
  // Returns the number of the step's command, from 1, in the order of their first steps.
  std::uint32_t CommandOf(std::size_t step) const;
  ParameterPairs ParametersOf(std::size_t step, std::string_view label) const;

 private:
  // What steps have in common.
  struct Kind {
    std::string command;  // what is run: a hash
    std::uint32_t number = 0;
    std::vector<std::string> names;
    bool operator==(const Kind&) const = default;
  };

  static std::optional<StepListing> Parse(std::string_view text);
  std::string Format() const;
  const Kind& KindOf(std::size_t step) const;
  std::uint32_t FindOrAdd(Kind kind);

  std::vector<Kind> kinds_;
  // Runs of steps: the step after the last one, and the index of their kind.
  std::vector<std::pair<std::size_t, std::uint32_t>> ends_;
  std::map<std::size_t, std::vector<std::string>> values_;  // where the label is ambiguous
  // A step of the kind of the last one that was added.
  const Job* last_job_ = nullptr;
  std::size_t last_step_ = 0;
  std::uint32_t last_kind_ = 0;
};

// Records the commands and parameters of steps that were appended to the journal's list, all of
// them of `more`. `identities`: of its steps.
Status ExtendListing(Journal& journal, const Job& more, std::span<const Identity> identities,
                     std::size_t steps_before);

}  // namespace reveza::jobs

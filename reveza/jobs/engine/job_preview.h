// What a run of a job would do, read without changing anything. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/run_request.h"

namespace reveza::jobs {

struct JobPreview {
  bool exists = false;  // the job has a journal: it has run before
  std::uint64_t steps = 0;
  std::uint64_t done = 0;
  std::uint64_t continued = 0;  // done, but with fewer cycles than they have now
  std::uint64_t failed = 0;
  std::optional<std::string> explanation =
      std::nullopt;  // why steps that look finished run; see ExplainNewSteps
};

// Compares a job with the journal of its earlier runs. Steps that were added to it then are not
// seen. Fails as a run would: an input, program or folder is missing, or the journal is damaged.
Result<JobPreview> PreviewJob(const std::filesystem::path& state, const Job& job,
                              const Expander& expander, const RunRequest& request);

// Returns the explanation only, at little cost unless the job has changed.
Result<std::optional<std::string>> ExplainChanges(const std::filesystem::path& state,
                                                  const Job& job, const Expander& expander,
                                                  const RunRequest& request);

}  // namespace reveza::jobs

// Attempts without a supervisor connection: of an earlier runner, or of a supervisor that died.
// Polls their records until they have ended. Not thread-safe; belongs to the runner's loop.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

class AdoptedAttempts {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  explicit AdoptedAttempts(std::vector<LiveAttempt> attempts) : attempts_(std::move(attempts)) {}

  bool empty() const { return attempts_.empty(); }
  const std::vector<LiveAttempt>& all() const { return attempts_; }
  Nanoseconds next_poll() const { return next_poll_; }

  // Adds an attempt and polls it as soon as possible.
  void Add(LiveAttempt attempt);
  // Stops tracking; the attempts end by themselves, and the next run imports their records.
  void Clear() { attempts_.clear(); }

  struct Polled {
    std::vector<AttemptResult> ended;  // outcome kUnknown if the record has no result
    std::vector<std::string> notes;    // for the user
    std::vector<Error> errors;         // of the journal; the attempts concerned are polled again
  };
  // Imports the records of ended attempts into `journal` and returns their results, except of steps
  // that are not listed any more. Does nothing until `next_poll()`.
  Polled Poll(Nanoseconds now, Journal& journal,
              const std::function<bool(const Identity&)>& is_listed);

 private:
  std::vector<LiveAttempt> attempts_;
  Nanoseconds next_poll_{0};
  std::string last_error_;  // why the state of an attempt cannot be determined
};

}  // namespace reveza::jobs

// How a job is to be run, as it was asked for: values only. What is run is job.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/bytes.h"

namespace reveza::runner {

// When a job is given up because steps failed.
struct Halt {
  enum class How {
    kNever,  // every step has its turn
    kSoon,   // no further step begins; those that run end by themselves
    kNow,    // those that run are ended too
  };
  How how = How::kNever;
  // Exactly one of the two is set unless `how` is kNever.
  std::optional<std::uint64_t> failures;  // so many failed steps, at least 1
  std::optional<double> share;            // or this part of all steps, above 0 and up to 1

  bool operator==(const Halt&) const = default;
};

// What is done with a step whose last attempt may or may not have finished.
enum class OnUnknown {
  kRetry,  // run again
  kHold,   // left alone until somebody decides
};

// How a step is kept from taking more memory than it may.
enum class Limits {
  kAuto,     // the first of these that there is
  kCgroup,   // a control group of its own
  kSystemd,  // a scope of systemd's user manager
  kWatch,    // looked at once a second, and ended
  kNone,     // it is not
};

struct RunRequest {
  std::optional<unsigned> workers;      // exactly so many, at least 1; absent: found by throughput
  std::optional<unsigned> max_workers;  // never more, at least 1

  Halt halt;
  OnUnknown on_unknown = OnUnknown::kRetry;
  unsigned retries = 0;                   // further attempts of a step that failed
  bool retry_failed = false;              // steps that failed in an earlier run get another chance
  bool force = false;                     // run what is finished as well
  bool rerun_if_program_changed = false;  // run again what an older program finished

  std::optional<Bytes> memory_reserve;  // host memory that is left to others
  std::optional<double> cpu_budget;     // cores that steps may use together, above 0
  Limits limits = Limits::kAuto;

  bool keep_order = false;  // outputs are printed in the order of the steps
  bool detach = false;      // runs on without a terminal
  bool durable = false;     // what is recorded is on the disk before the next step is told of it
  bool dry_run = false;     // say what would run, and run nothing
  bool json = false;        // events as lines of JSON
  bool quiet = false;       // no progress
  std::filesystem::path joblog;         // a table of what ran; empty: none. Absolute
  std::filesystem::path output_folder;  // outputs of steps are kept here; empty: with the journal

  bool operator==(const RunRequest&) const = default;
};

}  // namespace reveza::runner

// From a job and the wish to run it to all that an engine needs: the folder and its lock, the
// journal with what is known, the list brought up to date. Thread-safety: none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "runner/engine.h"

namespace reveza::runner {

struct OpenedJob {
  UniqueFd lock;  // to be held while the parts are in use
  EngineParts parts;
  Imported imported;
  std::uint64_t verified = 0;      // outputs looked at after a reboot
  std::uint64_t lost = 0;          // of those: not as they were, so their steps run again
  std::vector<std::string> notes;  // what somebody should know before it begins, a line each
};

// What becomes of a job that is finished when it is asked for again.
enum class Finished {
  kStays,       // there is nothing to do
  kBeginsAnew,  // all its steps run again
};

// `job` and `expander` must outlive what is returned. kUnavailable: another runner works on it.
// kIncompatible: its journal is damaged; the message says how it is mended.
Result<OpenedJob> OpenJob(const std::filesystem::path& state, const Job& job,
                          const Expander& expander, const RunRequest& request,
                          const std::filesystem::path& supervisor,
                          Finished finished = Finished::kStays);

// How a step is called: "seed=57 rate=0.1", or its number where it has no parameters.
std::string LabelOf(const Job& job, std::uint32_t step);

}  // namespace reveza::runner

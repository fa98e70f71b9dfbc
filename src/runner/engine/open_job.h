// From a job and the wish to run it to all that an engine needs: the folder and its lock, the
// journal with what is known, the list brought up to date. Thread-safety: none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "runner/engine/engine.h"

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

// Steps that were added to it come behind those of `job`. Both `job` and `expander` must outlive
// what is returned, and grow when more are added. kUnavailable: another runner works on it.
// kIncompatible: its journal is damaged; the message says how it is mended.
Result<OpenedJob> OpenJob(const std::filesystem::path& state, Job& job, Expander& expander,
                          const RunRequest& request, const std::filesystem::path& supervisor,
                          Finished finished = Finished::kStays);

}  // namespace reveza::runner

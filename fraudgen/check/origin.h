// Finds out whether the rows of a data set can be made again from the settings stored with it.
#pragma once

#include <functional>
#include <optional>

#include "common/base/error.h"
#include "fraudgen/check/data_set.h"
#include "fraudgen/check/outcome.h"
#include "fraudgen/run/prepare.h"

namespace reveza::fraudgen::check {

struct Origin {
  // What is the same if nothing was changed: also the bytes, or only the rows, because another
  // version of the program or its libraries wrote the files.
  enum class Same { kBytes, kRows };

  std::optional<PreparedRun> run;  // unset: the rows cannot be made again
  Same same = Same::kBytes;
  Outcome outcome;
};

// Reads the settings. kUnavailable: stopped by the callback.
Result<Origin> FindOrigin(const DataSet& data, int threads, const OnPreparing& on_preparing);

}  // namespace reveza::fraudgen::check

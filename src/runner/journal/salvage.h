// What a damaged journal still says. Private to the journal. Thread-safety: none.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "runner/journal/journal.h"

namespace reveza::runner {

struct Salvaged {
  std::map<std::string, std::string> notes;  // what else was remembered, by name
  std::vector<StepEntry> steps;              // none twice
  std::vector<AttemptEntry> attempts;        // by their sequences, none twice
};

// All rows that can be read and are what their checksums say, in whatever state the rest is.
// Nothing is changed. kExhausted, kPermission, kUnavailable: it cannot be read now, damaged or not.
Result<Salvaged> Salvage(const std::filesystem::path& database);

}  // namespace reveza::runner

// Answers on disk, one file per question, so that the same question is computed once. A file holds
// the question, the answer and a checksum, and is replaced atomically, so that any number of
// processes may share a folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace reveza::phi {

// Not thread-safe.
class AnswerCache {
 public:
  // Opens a folder, which is created if it does not exist.
  static Result<AnswerCache> Open(const std::filesystem::path& folder);

  // Returns the answer to a question; nothing if there is none. An entry that cannot be used, such
  // as a damaged one, is an error that names it.
  Result<std::optional<std::string>> Find(std::string_view question) const;
  // Stores an answer in place of any other.
  Status Store(std::string_view question, std::string_view answer) const;

 private:
  explicit AnswerCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path PathOf(std::string_view question) const;

  std::filesystem::path folder_;
};

}  // namespace reveza::phi

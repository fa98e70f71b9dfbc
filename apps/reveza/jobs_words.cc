#include "jobs_words.h"

#include <fmt/format.h>

#include <string_view>

#include "exit_status.h"
#include "platform/runtime_paths.h"

namespace reveza::cli {

Result<JobWords> ReadJobWords(int argc, char** argv, std::size_t least, std::size_t most,
                              std::string_view usage) {
  JobWords words;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json") {
      words.json = true;
    } else if (word.starts_with('-')) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("unknown option '{}'; write: reveza jobs {}", word, usage));
    } else {
      words.names.emplace_back(word);
    }
  }
  if (words.names.size() < least || words.names.size() > most) {
    return Fail(Error::Code::kInvalidArgument, fmt::format("write: reveza jobs {}", usage));
  }
  return words;
}

Result<runner::JobFolder> FindJob(const std::string& name) {
  const auto state = runner::StateHome(platform::ProcessEnvironment);
  if (!state) return std::unexpected(state.error());
  return runner::JobFolder::Find(*state, name);
}

int SayJobError(const Error& error) {
  switch (error.code) {
    case Error::Code::kUnavailable:
      return Say(kBusyJob, error.message);
    case Error::Code::kIncompatible:
      return Say(kDamagedJournal, error.message);
    case Error::Code::kInvalidArgument:
    case Error::Code::kNotFound:
      return Say(kUsage, error.message);
    default:
      return Say(kFailed, error.message);
  }
}

}  // namespace reveza::cli

// Completion of a command line from the same CLI::App that parses it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reveza::command_line {

struct Candidate {
  std::string value;
  std::string description = {};  // one line; may be empty
};

// What precedes the word to complete.
struct Typed {
  const CLI::App& command;
  std::vector<std::string> positionals;  // of the command
};

// What a program knows beyond its CLI::App. Members may be empty.
struct CompletionSource {
  // Returns the values of a kind, which is the NAME of a positional or of an option's value in the
  // help. Must be quick, and must not fail or print.
  std::function<std::vector<Candidate>(std::string_view kind, const Typed& typed)> values;
  // Returns whether a command takes an option of its parent, if its parent's are allowed at all.
  std::function<bool(const CLI::App& command, std::string_view option)> accepts;
};

struct Completion {
  enum class Kind {
    kValues,   // `candidates`
    kFiles,    // names of files
    kFolders,  // names of folders
    kCommand,  // words[command...] are the command line of another program
  };
  Kind kind = Kind::kValues;
  std::vector<Candidate> candidates = {};
  std::size_t command = 0;
};

inline constexpr std::size_t kMaxCandidates = 1000;

// Returns the kind of an option's value: the NAME of a positional, else what the help shows.
std::string ValueKind(const CLI::Option& option);

// Completes the last of `words`, which follow the name of the program. The kinds FILE, PATH and
// PLACE stand for files, FOLDER and DIR for folders, COMMAND for the command line of another
// program; of kinds such as `low|normal|high` and `N|auto` the words in lower case are values.
// KIND,... is a list.
Completion Complete(const CLI::App& root, std::span<const std::string> words,
                    const CompletionSource& source);

// The answer to a shell's script: a line `values`, `files`, `folders` or `command N`, then a line
// per candidate, VALUE or VALUE<tab>DESCRIPTION.
std::string CompletionText(const Completion& completion);

// The script that makes `shell` (bash, zsh or fish) complete the command line of `program`; empty
// for other shells.
std::string CompletionScript(std::string_view shell, std::string_view program);

}  // namespace reveza::command_line

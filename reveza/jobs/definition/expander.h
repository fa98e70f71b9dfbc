// Expands the templates of a job into the command of each step. Templates are parsed once, so that
// expanding a step is cheap. An Expander is immutable and safe to use from several threads.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/template.h"

namespace reveza::jobs {

// A command ready to execute. With a shell, `arguments` are /bin/sh, -c and the command line.
struct ExpandedCommand {
  std::vector<std::string> arguments;
  std::filesystem::path folder;
  std::vector<std::pair<std::string, std::string>> environment;

  bool operator==(const ExpandedCommand&) const = default;
};

class Expander {
 public:
  // Parses all templates and validates them against the parameters of all steps. kInvalidArgument
  // describes the first invalid one.
  static Result<Expander> Make(const Job& job);

  // Expands the command of a step of this job. kInvalidArgument: the step lacks a parameter.
  Result<ExpandedCommand> Expand(const Step& step, const BuiltIns& built_ins) const;

  // Returns the memory that the step claims by a template; empty if its command has none.
  // kInvalidArgument: not a size.
  Result<std::optional<Bytes>> Memory(const Step& step) const;

  // Returns the input files of the step; relative paths are resolved against its folder.
  Result<std::vector<std::filesystem::path>> Inputs(const Step& step) const;

 private:
  struct Compiled {
    std::vector<Template> arguments;
    Template folder;
    std::vector<std::pair<std::string, Template>> environment;
    std::vector<Template> inputs;
    std::optional<Template> memory;
    bool shell = false;
  };
  static Result<Compiled> Compile(const Command& command,
                                  std::span<const std::string_view> parameters);
  std::vector<Compiled> commands_;
};

// Validates that every step of the job can be expanded.
Status CheckCommands(const Job& job);

// Expands a single step of a single command.
Result<ExpandedCommand> Expand(const Command& command, const Step& step, const BuiltIns& built_ins);

}  // namespace reveza::jobs

// The commands that come of a job's steps: its templates are read once, then each step is quick.
// Thread-safety: an Expander is constant, and may be used by many threads; pure functions else.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runner/definition/template.h"
#include "runner/job.h"

namespace reveza::runner {

// What is started. With a shell, `arguments` are /bin/sh, -c and a line.
struct Expanded {
  std::vector<std::string> arguments;
  std::filesystem::path folder;
  std::vector<std::pair<std::string, std::string>> environment;

  bool operator==(const Expanded&) const = default;
};

// The templates of a job, read once; makes the command of each step.
class Expander {
 public:
  // Reads all templates and compares them with the parameters of all steps.
  // kInvalidArgument: the first that is wrong, and what would be right.
  static Result<Expander> Make(const Job& job);

  // Of a step of the job that it was made of. kInvalidArgument: the step has other parameters.
  Result<Expanded> Expand(const Step& step, const BuiltIns& built_ins) const;

  // The input files that the command of the step names, relative ones in its folder.
  Result<std::vector<std::filesystem::path>> Inputs(const Step& step) const;

 private:
  struct Compiled {
    std::vector<Template> arguments;
    Template folder;
    std::vector<std::pair<std::string, Template>> environment;
    std::vector<Template> inputs;
    bool shell = false;
  };
  static Result<Compiled> Compile(const Command& command,
                                  std::span<const std::string_view> parameters);
  std::vector<Compiled> commands_;
};

// Whether every step of the job can be expanded: to be asked once, before anything runs.
Status Check(const Job& job);

// One step of one command, for those who need no more than one.
Result<Expanded> Expand(const Command& command, const Step& step, const BuiltIns& built_ins);

}  // namespace reveza::runner

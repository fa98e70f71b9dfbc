#include "job_arguments.h"

#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "command_line/command_line.h"
#include "job_options.h"
#include "platform/gpu_monitor.h"
#include "platform/machine_load.h"
#include "runner/definition/expander.h"
#include "runner/definition/identity.h"
#include "runner/definition/job_file.h"
#include "runner/definition/parameters.h"
#include "runner/text_file.h"

namespace reveza::cli {
namespace {

using runner::ParameterRows;

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

// Where our options end: behind "--", or at the first word that is neither an option nor a value.
struct Split {
  int options_end = 0;
  int command_begin = 0;
};

Split SplitWords(const CLI::App& app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return {i, i + 1};
    if (!word.starts_with('-') || word == "-") return {i, i};
    const auto* option = app.get_option_no_throw(word);
    if (option != nullptr && option->get_items_expected_max() > 0) ++i;
  }
  return {argc, argc};
}

std::string UnknownOption(const CLI::App& app, const std::string& word) {
  return fmt::format("unknown option '{}'{}; see reveza jobs run --help", word,
                     command_line::DidYouMean(word, app));
}

// Each row of the one with each row of the other.
Result<ParameterRows> Cross(ParameterRows rows, ParameterRows with) {
  if (with.size() == 1 && with[0].empty()) return rows;
  if (rows.size() == 1 && rows[0].empty()) return with;
  if (!with.empty() && rows.size() > runner::kMostSteps / with.size()) {
    return Wrong(fmt::format("that is {} times {} steps; a job has at most {}", rows.size(),
                             with.size(), runner::kMostSteps));
  }
  ParameterRows all;
  all.reserve(rows.size() * with.size());
  for (const auto& row : rows) {
    for (const auto& more : with) {
      auto& both = all.emplace_back();
      both.reserve(row.size() + more.size());
      both.insert(both.end(), row.begin(), row.end());
      both.insert(both.end(), more.begin(), more.end());
    }
  }
  return all;
}

Result<ParameterRows> ReadRows(const JobOptions& options, std::span<const std::string> axis_words,
                               const Surroundings& surroundings) {
  Result<ParameterRows> rows = ParameterRows(1);
  if (!options.csv.empty()) {
    const auto text = runner::ReadTextFile(surroundings.folder / options.csv);
    if (!text) return std::unexpected(text.error());
    rows = runner::ParseCsv(*text, options.csv);
    if (rows && rows->empty()) return Wrong(fmt::format("{} has no rows", options.csv));
  }
  if (rows && options.lines) {
    const auto text = surroundings.standard_input();
    if (!text) return std::unexpected(text.error());
    auto lines = runner::ParseLines(*text, "standard input");
    if (!lines) return lines;
    if (lines->empty()) return Wrong("--stdin: standard input has no lines");
    rows = Cross(*std::move(rows), *std::move(lines));
  }
  if (!rows) return rows;
  const auto axes = runner::ParseAxes(axis_words, surroundings.folder);
  if (!axes) return std::unexpected(axes.error());
  auto grid = runner::Grid(*axes);
  if (!grid) return grid;
  return Cross(*std::move(rows), *std::move(grid));
}

Result<runner::Job> ReadJob(const JobOptions& options, std::vector<std::string> arguments,
                            const Surroundings& surroundings) {
  if (!options.job_file.empty()) {
    if (!arguments.empty()) {
      return Wrong(fmt::format("either --job {} or a command, not both: '{}'", options.job_file,
                               arguments.front()));
    }
    if (auto alone = CheckNoneOfACommand(options); !alone) return std::unexpected(alone.error());
    return runner::ReadJobFile(surroundings.folder / options.job_file);
  }
  const auto axis = std::ranges::find_if(
      arguments, [](const std::string& word) { return word.starts_with(":::"); });
  const std::vector<std::string> axis_words(axis, arguments.end());
  arguments.erase(axis, arguments.end());
  if (arguments.empty()) {
    return Wrong(
        "run what? write: reveza jobs run -- COMMAND... ::: NAME VALUES..., or --job FILE");
  }
  auto command = ReadCommand(options, std::move(arguments), surroundings.folder);
  if (!command) return std::unexpected(command.error());
  auto rows = ReadRows(options, axis_words, surroundings);
  if (!rows) return std::unexpected(rows.error());
  runner::Job job;
  job.commands.push_back(*std::move(command));
  job.steps.resize(rows->size());
  for (std::size_t i = 0; i < rows->size(); ++i) {
    job.steps[i].parameters = std::move((*rows)[i]);
  }
  return job;
}

Status CheckName(std::string_view name) {
  const bool fine = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-").contains(c);
  });
  if (fine && name.size() <= 64 && !name.starts_with('.') && !name.starts_with('-')) return {};
  return Wrong(fmt::format(
      "'{}' cannot name a job; write up to 64 letters, digits, ., _ and -, first a letter or digit",
      name));
}

// No step may need more than there is: it would wait for ever.
Status CheckClaims(const runner::Job& job, const Surroundings& surroundings) {
  for (const runner::Command& command : job.commands) {
    const runner::Claim& claim = command.claim;
    if (claim.cpus && surroundings.cores && *claim.cpus > *surroundings.cores) {
      return Wrong(
          fmt::format("a step that needs {} cores never runs here: there are {}; claim at "
                      "most so many (--cpus)",
                      *claim.cpus, *surroundings.cores));
    }
    if (claim.memory && surroundings.memory && *claim.memory > *surroundings.memory) {
      return Wrong(
          fmt::format("a step that needs {} of memory never runs here: there are {}; claim "
                      "less (--memory)",
                      FormatBytes(*claim.memory), FormatBytes(*surroundings.memory)));
    }
    if (!claim.gpu_memory || *claim.gpu_memory == 0) continue;
    if (surroundings.gpu_memory && *claim.gpu_memory > *surroundings.gpu_memory) {
      return Wrong(
          fmt::format("a step that needs {} of GPU memory never runs here: the largest GPU "
                      "has {}; claim less (--gpu-memory)",
                      FormatBytes(*claim.gpu_memory), FormatBytes(*surroundings.gpu_memory)));
    }
  }
  return {};
}

// Whether a text has {name} in it.
bool Names(std::string_view text, std::string_view name) {
  return text.contains(fmt::format("{{{}}}", name));
}

bool Uses(const runner::Command& command, std::string_view name) {
  const auto names = [&](std::string_view text) { return Names(text, name); };
  return std::ranges::any_of(command.arguments, names) || names(command.folder.native()) ||
         std::ranges::any_of(command.inputs, names) ||
         std::ranges::any_of(command.environment,
                             [&](const auto& variable) { return names(variable.second); });
}

std::vector<std::string> NotesOn(const runner::Job& job) {
  std::vector<std::string> notes;
  for (std::size_t c = 0; c < job.commands.size(); ++c) {
    const runner::Command& command = job.commands[c];
    const auto first = std::ranges::find(job.steps, c, &runner::Step::command);
    if (first == job.steps.end()) continue;
    for (const auto& parameter : first->parameters) {
      if (Uses(command, parameter.name)) continue;
      notes.push_back(
          fmt::format("parameter '{0}' is nowhere in the command: write {{{0}}} where "
                      "its value goes",
                      parameter.name));
    }
    if (command.cycles && !Uses(command, "from")) {
      notes.emplace_back(
          "the command has no {from}: if it is started again, it begins with its first cycle");
    }
  }
  return notes;
}

Result<std::string> AllOfStandardInput() {
  std::string text;
  std::array<char, 64 * kKiB> piece;
  for (;;) {
    const std::size_t length = std::fread(piece.data(), 1, piece.size(), stdin);
    text.append(piece.data(), length);
    if (text.size() > kGiB) return Wrong("--stdin: standard input is longer than 1 GiB");
    if (length == piece.size()) continue;
    if (std::ferror(stdin) == 0) return text;
    return Fail(Error::Code::kUnavailable,
                fmt::format("cannot read standard input: {}", std::strerror(errno)));
  }
}

}  // namespace

// Nothing where one of them does not say how much it has: it may be the largest.
std::optional<Bytes> LargestCard(platform::GpuMonitor& nvml) {
  std::optional<Bytes> largest;
  const auto gpus = nvml.Read();
  if (!gpus) return largest;
  for (const auto& gpu : *gpus) {
    if (!gpu.total) return std::nullopt;
    largest = std::max(largest, gpu.total);
  }
  return largest;
}

Surroundings ThisMachine() {
  Surroundings here;
  std::error_code ignored;
  here.folder = std::filesystem::current_path(ignored);
  here.standard_input = AllOfStandardInput;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) here.cores = CPU_COUNT(&cores);
  if (const auto memory = platform::ReadMachineMemory()) here.memory = memory->total;
  if (const auto nvml = platform::LoadNvml()) here.gpu_memory = LargestCard(**nvml);
  return here;
}

Result<ParsedRun> ParseRun(int argc, char** argv) { return ParseRun(argc, argv, ThisMachine()); }

Result<ParsedRun> ParseRun(int argc, char** argv, const Surroundings& surroundings) {
  CLI::App app(
      "Run a command for each set of parameters, and none of them twice:\n"
      "reveza jobs run [OPTIONS] -- COMMAND... [::: NAME VALUES...]...",
      "reveza jobs run");
  app.footer("For example:  reveza jobs run -- ./simulate --seed {seed} ::: seed 1..500");
  app.allow_extras();
  JobOptions options;
  AddJobOptions(app, options);
  const Split split = SplitWords(app, argc, argv);
  try {
    app.parse(split.options_end, argv);
  } catch (const CLI::CallForHelp&) {
    ParsedRun parsed;
    parsed.help = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    return Wrong(fmt::format("{}; see reveza jobs run --help", error.what()));
  }
  if (const auto extra = app.remaining(); !extra.empty())
    return Wrong(UnknownOption(app, extra[0]));

  ParsedRun parsed;
  auto request = ReadRequest(options, surroundings.folder);
  if (!request) return std::unexpected(request.error());
  parsed.request = *std::move(request);
  std::vector<std::string> command(argv + split.command_begin, argv + argc);
  auto job = ReadJob(options, std::move(command), surroundings);
  if (!job) return std::unexpected(job.error());
  parsed.job = *std::move(job);
  if (auto checked = runner::Check(parsed.job); !checked) return std::unexpected(checked.error());
  if (auto checked = CheckClaims(parsed.job, surroundings); !checked) {
    return std::unexpected(checked.error());
  }
  if (!options.name.empty()) parsed.job.name = options.name;
  parsed.named = !parsed.job.name.empty();
  if (!parsed.named) parsed.job.name = runner::DefaultName(parsed.job);
  if (auto named = CheckName(parsed.job.name); !named) return std::unexpected(named.error());
  parsed.notes = NotesOn(parsed.job);
  return parsed;
}

}  // namespace reveza::cli

#include "job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/units.h"

namespace reveza::cli {
namespace {

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

void AddWhat(CLI::App& app, JobOptions& options) {
  app.add_option("--job", options.job_file, "a job file instead of a command: TOML, or JSON")
      ->group("What is run");
  app.add_option("--csv", options.csv, "parameters from a table, names in its first line")
      ->group("What is run");
  app.add_flag("--stdin", options.lines, "a step for each line of standard input: {line}")
      ->group("What is run");
  app.add_flag("--shell", options.shell, "the command is a line for /bin/sh; values are quoted")
      ->group("What is run");
  app.add_option("--folder", options.folder, "where steps run; may hold {parameters}")
      ->group("What is run");
  app.add_option("--env", options.environment, "NAME=VALUE that is set for steps; repeatable")
      ->allow_extra_args(false)
      ->group("What is run");
  app.add_option("--identity-env", options.identity_variables,
                 "a variable whose value decides the results; repeatable")
      ->allow_extra_args(false)
      ->group("What is run");
  app.add_option("--input", options.inputs,
                 "a file whose content decides the results; repeatable; may hold {parameters}")
      ->allow_extra_args(false)
      ->group("What is run");
  app.add_option("--cycles", options.cycles, "the program makes so many cycles and says each")
      ->group("What is run");
  app.add_option("--chain", options.chain, "so many cycles in one process, then the next process")
      ->group("What is run");
}

void AddHow(CLI::App& app, JobOptions& options) {
  app.add_option("--name", options.name, "how the job is called")->group("How");
  app.add_option("-j,--workers", options.workers, "steps at the same time, or auto (found)")
      ->group("How");
  app.add_option("--max-workers", options.max_workers, "at most so many")->group("How");
  app.add_option("--time-limit", options.time_limit, "for each step, such as 30s or 2h")
      ->group("How");
  app.add_option("--priority", options.priority, "larger goes first")->group("How");
  app.add_option("--halt", options.halt, "never, soon,fail=N, now,fail=N, or N% of the steps")
      ->group("How");
  app.add_option("--retries", options.retries, "further attempts of a step that fails")
      ->group("How");
  app.add_flag("--retry-failed", options.retry_failed, "what failed earlier gets another chance")
      ->group("How");
  app.add_option("--on-unknown", options.on_unknown,
                 "a step that may or may not have ended is: retry (run again), hold")
      ->group("How");
  app.add_flag("--force", options.force, "run what is finished, too")->group("How");
  app.add_flag("--rerun-if-program-changed", options.rerun_if_program_changed,
               "run again what an older program finished")
      ->group("How");
  app.add_flag("--detach", options.detach, "run on without this terminal")->group("How");
  app.add_flag("--durable", options.durable, "finished means finished after a power cut, too")
      ->group("How");
  app.add_flag("--dry-run", options.dry_run, "say what would run, and run nothing")->group("How");
}

void AddClaimsAndOutput(CLI::App& app, JobOptions& options) {
  app.add_option("--cpus", options.cpus, "cores that a step needs, such as 2 or 0.5")
      ->group("Claims (learned when absent)");
  app.add_option("--memory", options.memory, "memory that a step needs, such as 2GiB")
      ->group("Claims (learned when absent)");
  app.add_option("--gpu-memory", options.gpu_memory, "GPU memory that a step needs")
      ->group("Claims (learned when absent)");
  app.add_option("--memory-reserve", options.memory_reserve, "memory that is left to others")
      ->group("Claims (learned when absent)");
  app.add_option("--cpu-budget", options.cpu_budget, "cores that steps may use together")
      ->group("Claims (learned when absent)");
  app.add_option("--limits", options.limits,
                 "keep a step within its memory by: auto, cgroup, systemd, watch, none")
      ->group("Claims (learned when absent)");
  app.add_flag("--keep-order", options.keep_order, "print outputs in the order of the steps")
      ->group("Output");
  app.add_option("--output-folder", options.output_folder, "keep outputs of steps there")
      ->group("Output");
  app.add_option("--joblog", options.joblog, "write a table of what ran")->group("Output");
  app.add_flag("--json", options.json, "events as lines of JSON")->group("Output");
  app.add_flag("--quiet", options.quiet, "no progress")->group("Output");
}

Result<std::uint64_t> Whole(std::string_view option, std::string_view text, std::uint64_t least) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number < least) {
    return Wrong(fmt::format("{}: '{}' is no whole number from {}", option, text, least));
  }
  return number;
}

Result<double> Above0(std::string_view option, std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || at != end || !std::isfinite(number) || number <= 0) {
    return Wrong(
        fmt::format("{}: '{}' is no number above 0; write one such as 2 or 0.5", option, text));
  }
  return number;
}

// One after the other, each only when it was given; the first error is kept.
class Reader {
 public:
  template <typename Parse, typename Target>
  void Read(std::string_view option, const std::string& text, Parse parse, Target& target) {
    if (text.empty() || !status_) return;
    auto value = parse(text);
    if (value) {
      target = *std::move(value);
    } else {
      const std::string& message = value.error().message;
      const bool said = message.starts_with(option);
      status_ = Wrong(said ? message : fmt::format("{}: {}", option, message));
    }
  }
  template <typename Target>
  void ReadWhole(std::string_view option, const std::string& text, std::uint64_t least,
                 Target& target) {
    const auto parse = [&](const std::string& word) { return Whole(option, word, least); };
    Read(option, text, parse, target);
  }
  void ReadCount(std::string_view option, const std::string& text,
                 std::optional<unsigned>& target) {
    std::optional<std::uint64_t> number;
    ReadWhole(option, text, 1, number);
    if (number && *number > 100'000) {
      status_ = Wrong(fmt::format("{}: {} is more than 100000", option, *number));
    } else if (number) {
      target = static_cast<unsigned>(*number);
    }
  }
  void ReadAbove0(std::string_view option, const std::string& text, std::optional<double>& target) {
    Read(option, text, [&](const std::string& word) { return Above0(option, word); }, target);
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

Result<runner::Halt> ParseHalt(std::string_view text) {
  runner::Halt halt;
  if (text == "never") return halt;
  const auto wrong = [&] {
    return Wrong(fmt::format(
        "--halt: '{}' is not understood; write never, soon,fail=3, now,fail=1 or soon,fail=10%",
        text));
  };
  const std::size_t comma = text.find(',');
  const std::string_view how = text.substr(0, comma);
  if (how != "soon" && how != "now") return wrong();
  halt.how = how == "soon" ? runner::Halt::How::kSoon : runner::Halt::How::kNow;
  std::string_view count = comma == text.npos ? "fail=1" : text.substr(comma + 1);
  if (!count.starts_with("fail=")) return wrong();
  count.remove_prefix(5);
  if (count.ends_with('%')) {
    const auto percent = Above0("--halt", count.substr(0, count.size() - 1));
    if (!percent || *percent > 100) return wrong();
    halt.share = *percent / 100;
  } else {
    const auto failures = Whole("--halt", count, 1);
    if (!failures) return wrong();
    halt.failures = *failures;
  }
  return halt;
}

Result<int> ParsePriority(std::string_view text) {
  int priority = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, priority);
  if (error != std::errc() || at != end || std::abs(priority) > 1'000'000) {
    return Wrong(fmt::format("--priority: '{}' is no whole number; larger goes first", text));
  }
  return priority;
}

Result<runner::OnUnknown> ParseOnUnknown(std::string_view text) {
  if (text == "retry") return runner::OnUnknown::kRetry;
  if (text == "hold") return runner::OnUnknown::kHold;
  return Wrong(fmt::format("--on-unknown: '{}' is neither retry nor hold", text));
}

Result<runner::Limits> ParseLimits(std::string_view text) {
  using enum runner::Limits;
  constexpr std::pair<std::string_view, runner::Limits> kNames[] = {{"auto", kAuto},
                                                                    {"cgroup", kCgroup},
                                                                    {"systemd", kSystemd},
                                                                    {"watch", kWatch},
                                                                    {"none", kNone}};
  for (const auto& [name, limits] : kNames) {
    if (name == text) return limits;
  }
  return Wrong(
      fmt::format("--limits: '{}' is none of auto, cgroup, systemd, watch and none", text));
}

}  // namespace

void AddJobOptions(CLI::App& app, JobOptions& options) {
  AddWhat(app, options);
  AddHow(app, options);
  AddClaimsAndOutput(app, options);
}

Result<runner::RunRequest> ReadRequest(const JobOptions& options,
                                       const std::filesystem::path& folder) {
  runner::RunRequest request;
  Reader reader;
  if (options.workers != "auto") reader.ReadCount("--workers", options.workers, request.workers);
  reader.ReadCount("--max-workers", options.max_workers, request.max_workers);
  reader.Read("--halt", options.halt, ParseHalt, request.halt);
  reader.Read("--on-unknown", options.on_unknown, ParseOnUnknown, request.on_unknown);
  std::uint64_t retries = 0;
  reader.ReadWhole("--retries", options.retries, 0, retries);
  request.retries = static_cast<unsigned>(std::min<std::uint64_t>(retries, 1'000'000));
  reader.Read("--memory-reserve", options.memory_reserve, ParseBytes, request.memory_reserve);
  reader.ReadAbove0("--cpu-budget", options.cpu_budget, request.cpu_budget);
  reader.Read("--limits", options.limits, ParseLimits, request.limits);
  if (!reader.status()) return std::unexpected(reader.status().error());
  if (request.workers && request.max_workers && *request.workers > *request.max_workers) {
    return Wrong(fmt::format("--workers {} is more than --max-workers {}; leave one of them away",
                             *request.workers, *request.max_workers));
  }
  request.retry_failed = options.retry_failed;
  request.force = options.force;
  request.rerun_if_program_changed = options.rerun_if_program_changed;
  request.keep_order = options.keep_order;
  request.detach = options.detach;
  request.durable = options.durable;
  request.dry_run = options.dry_run;
  request.json = options.json;
  request.quiet = options.quiet;
  if (!options.joblog.empty()) request.joblog = (folder / options.joblog).lexically_normal();
  if (!options.output_folder.empty()) {
    request.output_folder = (folder / options.output_folder).lexically_normal();
  }
  return request;
}

namespace {

Status AddVariables(runner::Command& command, const JobOptions& options) {
  for (const std::string& word : options.environment) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0) {
      return Wrong(fmt::format("--env: '{}' is not understood; write NAME=VALUE", word));
    }
    const std::string name = word.substr(0, equals);
    const auto same = [&](const auto& other) { return other.first == name; };
    if (std::ranges::any_of(command.environment, same)) {
      return Wrong(fmt::format("--env: '{}' is set twice", name));
    }
    command.environment.emplace_back(name, word.substr(equals + 1));
  }
  for (const std::string& name : options.identity_variables) {
    if (name.empty() || name.contains('=')) {
      return Wrong(
          fmt::format("--identity-env: '{}' is no name of a variable; write the name alone", name));
    }
    command.identity_variables.push_back(name);
  }
  command.inputs = options.inputs;
  return {};
}

}  // namespace

Result<runner::Command> ReadCommand(const JobOptions& options, std::vector<std::string> arguments,
                                    const std::filesystem::path& folder) {
  runner::Command command;
  command.shell = options.shell;
  if (options.shell) {
    command.arguments.emplace_back();
    for (const std::string& word : arguments) {
      if (!command.arguments[0].empty()) command.arguments[0] += ' ';
      command.arguments[0] += word;
    }
  } else {
    command.arguments = std::move(arguments);
  }
  command.folder = options.folder.empty() ? folder : (folder / options.folder).lexically_normal();
  if (auto added = AddVariables(command, options); !added) return std::unexpected(added.error());
  Reader reader;
  reader.Read("--time-limit", options.time_limit, ParseDuration, command.time_limit);
  reader.Read("--priority", options.priority, ParsePriority, command.priority);
  reader.ReadAbove0("--cpus", options.cpus, command.claim.cpus);
  reader.Read("--memory", options.memory, ParseBytes, command.claim.memory);
  reader.Read("--gpu-memory", options.gpu_memory, ParseBytes, command.claim.gpu_memory);
  std::optional<std::uint64_t> cycles;
  std::optional<std::uint64_t> chain;
  reader.ReadWhole("--cycles", options.cycles, 1, cycles);
  reader.ReadWhole("--chain", options.chain, 1, chain);
  if (!reader.status()) return std::unexpected(reader.status().error());
  if (chain && !cycles) return Wrong("--chain needs to know how many cycles there are: --cycles N");
  if (cycles) command.cycles = runner::Cycles{.count = *cycles, .chain = chain.value_or(0)};
  if (command.time_limit && command.time_limit->count() == 0) {
    return Wrong("--time-limit: 0 leaves no time; leave it away for no limit");
  }
  return command;
}

// The options that belong to a command and have a key of their own in a job file.
Status CheckNoneOfACommand(const JobOptions& options) {
  const std::array<std::pair<std::string_view, bool>, 14> given = {{
      {"--csv", !options.csv.empty()},
      {"--stdin", options.lines},
      {"--shell", options.shell},
      {"--folder", !options.folder.empty()},
      {"--env", !options.environment.empty()},
      {"--identity-env", !options.identity_variables.empty()},
      {"--input", !options.inputs.empty()},
      {"--cycles", !options.cycles.empty()},
      {"--chain", !options.chain.empty()},
      {"--time-limit", !options.time_limit.empty()},
      {"--priority", !options.priority.empty()},
      {"--cpus", !options.cpus.empty()},
      {"--memory", !options.memory.empty()},
      {"--gpu-memory", !options.gpu_memory.empty()},
  }};
  for (const auto& [option, is_given] : given) {
    if (is_given) {
      return Wrong(fmt::format("{} goes with a command; write it in the job file instead", option));
    }
  }
  return {};
}

}  // namespace reveza::cli

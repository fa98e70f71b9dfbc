#include "reveza/cli/reveza/jobs/job_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "common/base/parse_number.h"
#include "common/base/units.h"
#include "reveza/jobs/decide/machine_reading.h"

namespace reveza::cli {
namespace {

constexpr std::string_view kJobFile = "--job";

struct JobOption {
  const char* name;
  std::variant<std::string JobOptions::*, std::vector<std::string> JobOptions::*,
               bool JobOptions::*, bool jobs::RunRequest::*>
      target;        // a list: repeatable; bool: a flag
  const char* type;  // shown in the help, unless it is a flag
  const char* description;
  bool in_job_file = false;  // describes the command; a job file has a key for it
};

struct OptionGroup {
  const char* name;
  std::vector<JobOption> options;
};

const std::vector<OptionGroup>& OptionGroups() {
  using Options = JobOptions;
  using jobs::RunRequest;
  static const std::vector<OptionGroup> groups = {
      {"Command",
       {{"--job", &Options::job_file, "FILE", "job file instead of a command (TOML, or *.json)"},
        {"--csv", &Options::csv, "FILE", "a step per row; the first row names the parameters",
         true},
        {"--stdin", &Options::lines, "", "a step per line of standard input, as {line}", true},
        {"--shell", &Options::shell, "", "run the command by /bin/sh; values are quoted", true},
        {"--folder", &Options::folder, "DIR",
         "working directory of steps; may contain {parameters} (default: .)", true},
        {"--env", &Options::environment, "NAME=VALUE", "set an environment variable; repeatable",
         true},
        {"--identity-env", &Options::identity_variables, "NAME",
         "variable that affects results: a new value reruns steps; repeatable", true},
        {"--input", &Options::inputs, "FILE",
         "file that affects results: new content reruns steps; repeatable", true},
        {"--time-limit", &Options::time_limit, "TIME",
         "terminate a step after this time, e.g. 30s or 2h (default: none)", true},
        {"--priority", &Options::priority, "N", "larger starts first (default: 0)", true},
        {"--cycles", &Options::cycles, "N",
         "the program makes N cycles and reports each; a restart continues at {from}", true},
        {"--chain", &Options::chain, "N",
         "with --cycles: start a new process every N cycles (default: one process)", true}}},
      {"Run",
       {{"--name", &Options::name, "NAME", "job name (default: from the program and a hash)"},
        {"-j,--workers", &Options::workers, "N|auto",
         "concurrent steps, or 50% for so many of the cores; auto finds the best number\n"
         "(default: auto)"},
        {"--max-workers", &Options::max_workers, "N",
         "maximum concurrent steps when the number is found"},
        {"--halt", &Options::halt, "WHEN",
         "when to stop early: never, soon,fail=N, soon,fail=N% or soon,loss<0.05 (once a\n"
         "step reports it); now instead of soon also terminates running steps (default: never)"},
        {"--retries", &Options::retries, "N", "further attempts of a failed step (default: 0)"},
        {"--retry-failed", &RunRequest::retry_failed, "",
         "retry steps that failed in earlier runs"},
        {"--on-unknown", &Options::on_unknown, "retry|hold",
         "what to do with steps whose end was not recorded (default: retry)"},
        {"--force", &RunRequest::force, "", "rerun finished steps too"},
        {"--rerun-if-program-changed", &RunRequest::rerun_if_program_changed, "",
         "rerun steps that an older version of the program finished"},
        {"--shard", &Options::shard, "I/N",
         "run only part I of N of the steps, on one of N machines"},
        {"--export", &Options::export_folder, "DIR",
         "copy the journal to this folder every 30 s and at the end, for `reveza jobs merge`"},
        {"--on", &Options::on, "slurm|ray|kubernetes",
         "run the steps on this cluster; needs --shared"},
        {"--shared", &Options::shared, "DIR",
         "folder that this machine and all nodes can write, for --on"},
        {"--image", &Options::image, "IMAGE", "container image of steps, for --on kubernetes"},
        {"--volume", &Options::volumes, "CLAIM:DIR",
         "PersistentVolumeClaim of steps at DIR, or a DIR of the nodes; repeatable"},
        {"--pod-template", &Options::pod_template, "FILE",
         "manifest of a pod with what else steps need, for --on kubernetes"},
        {"--detach", &RunRequest::detach, "", "run in the background; see reveza jobs follow"},
        {"--durable", &RunRequest::durable, "",
         "sync the journal to disk per step, so that results survive a power failure"},
        {"--dry-run", &RunRequest::dry_run, "", "print what would run and exit"}}},
      {"Resources",
       {{"--cpus", &Options::cpus, "CORES",
         "cores that a step needs, e.g. 2 or 0.5 (default: measured)", true},
        {"--memory", &Options::memory, "SIZE",
         "memory that a step needs, e.g. 2GiB or {mb}MiB (default: measured)", true},
        {"--gpu-memory", &Options::gpu_memory, "SIZE",
         "GPU memory that a step needs, e.g. 4GiB (default: measured)", true},
        {"--memory-reserve", &Options::memory_reserve, "SIZE",
         "memory to leave free (default: 5% of the smallest limit; of the\nmachine at least 256 "
         "MiB)"},
        {"--cpu-budget", &Options::cpu_budget, "CORES",
         "cores for all steps together (default: all)"},
        {"--limits", &Options::limits, "auto|cgroup|systemd|watch|none",
         "how to enforce a step's memory (default: auto, the first that is available)"}}},
      {"Output",
       {{"--output", &Options::output, "auto|quiet|tag|keep-order",
         "what to print of the outputs of steps: tag prints lines as they come, after\n"
         "the step's label; keep-order whole outputs, in the order of the steps\n"
         "(default: auto, tag for up to 16 steps on a terminal, else quiet)"},
        {"--output-folder", &Options::output_folder, "DIR",
         "where to keep the outputs of steps (default: with the journal)"},
        {"--joblog", &Options::joblog, "FILE",
         "append a table of attempts (GNU Parallel's format)"},
        {"--json", &RunRequest::json, "", "print events as lines of JSON"},
        {"--quiet", &RunRequest::quiet, "", "print no progress"}}}};
  return groups;
}

template <typename Value>
auto& TargetOf(auto& options, Value JobOptions::* member) {
  return options.*member;
}
auto& TargetOf(auto& options, bool jobs::RunRequest::* member) { return options.flags.*member; }

Result<std::uint64_t> ParseWhole(std::string_view text, std::uint64_t min) {
  const auto number = ParseNumber<std::uint64_t>(text);
  if (number && *number >= min) return *number;
  return InvalidArgument("'{}' is not a whole number of at least {}", text, min);
}
Result<std::uint64_t> ParseFromOne(std::string_view text) { return ParseWhole(text, 1); }

Result<unsigned> ParseRetries(std::string_view text) {
  ASSIGN_OR_RETURN(const auto retries, ParseWhole(text, 0));
  return static_cast<unsigned>(std::min<std::uint64_t>(retries, 1'000'000));
}

Result<double> ParsePositive(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error == std::errc() && rest == end && std::isfinite(number) && number > 0) return number;
  return InvalidArgument("'{}' is not a positive number such as 2 or 0.5", text);
}

// "4", or "50%" of the cores that this process may use.
Result<unsigned> ParseWorkers(std::string_view text) {
  constexpr std::uint64_t kMaxWorkers = 100'000;
  if (text.ends_with('%')) {
    const auto percent = ParsePositive(text.substr(0, text.size() - 1));
    if (!percent || *percent > 10'000) {
      return InvalidArgument("'{}' is not a share of the cores such as 50%", text);
    }
    const double cores = jobs::UsableCores();
    return static_cast<unsigned>(std::max(1.0, std::floor(cores * *percent / 100)));
  }
  ASSIGN_OR_RETURN(const auto number, ParseWhole(text, 1));
  if (number <= kMaxWorkers) return static_cast<unsigned>(number);
  return InvalidArgument("{} exceeds the maximum of {}", number, kMaxWorkers);
}

Result<jobs::Halt> ParseHalt(std::string_view text) {
  jobs::Halt halt;
  if (text == "never") return halt;
  const auto wrong = [&] {
    return InvalidArgument(
        "'{}' is invalid; write never, soon,fail=3, now,fail=1, soon,fail=10% or soon,loss<0.05",
        text);
  };
  const std::size_t comma = text.find(',');
  const std::string_view how = text.substr(0, comma);
  if (how != "soon" && how != "now") return wrong();
  halt.mode = how == "soon" ? jobs::Halt::Mode::kSoon : jobs::Halt::Mode::kNow;
  std::string_view count = comma == text.npos ? "fail=1" : text.substr(comma + 1);
  if (!count.starts_with("fail=")) {
    const auto goal = jobs::ParseGoal(count);
    if (!goal) return wrong();
    halt.goal = *goal;
    return halt;
  }
  count.remove_prefix(5);
  if (count.ends_with('%')) {
    const auto percent = ParsePositive(count.substr(0, count.size() - 1));
    if (!percent || *percent > 100) return wrong();
    halt.share = *percent / 100;
  } else {
    const auto failures = ParseWhole(count, 1);
    if (!failures) return wrong();
    halt.failures = *failures;
  }
  return halt;
}

Result<int> ParsePriority(std::string_view text) {
  const auto priority = ParseNumber<int>(text);
  if (priority && std::abs(*priority) <= 1'000'000) return *priority;
  return InvalidArgument("'{}' is not a whole number from -1000000 to 1000000", text);
}

Result<jobs::OnUnknown> ParseOnUnknown(std::string_view text) {
  if (text == "retry") return jobs::OnUnknown::kRetry;
  if (text == "hold") return jobs::OnUnknown::kHold;
  return InvalidArgument("'{}' is invalid; write retry or hold", text);
}

Result<jobs::Output> ParseOutput(std::string_view text) {
  // In the order of jobs::Output.
  constexpr std::string_view kNames[] = {"auto", "quiet", "tag", "keep-order"};
  const auto name = std::ranges::find(kNames, text);
  if (name != std::end(kNames)) return static_cast<jobs::Output>(name - std::begin(kNames));
  return InvalidArgument("'{}' is invalid; write auto, quiet, tag or keep-order", text);
}

Result<jobs::Limits> ParseLimits(std::string_view text) {
  // In the order of jobs::Limits.
  constexpr std::string_view kNames[] = {"auto", "cgroup", "systemd", "watch", "none"};
  const auto name = std::ranges::find(kNames, text);
  if (name != std::end(kNames)) return static_cast<jobs::Limits>(name - std::begin(kNames));
  return InvalidArgument("'{}' is invalid; write auto, cgroup, systemd, watch or none", text);
}

// Parses the options that were given; keeps the first error.
class Reader {
 public:
  template <typename Target>
  void Read(std::string_view option, const std::string& text, auto parse, Target& target) {
    if (text.empty() || !status_) return;
    if (auto value = parse(text)) {
      target = *std::move(value);
    } else {
      status_ = InvalidArgument("{}: {}", option, value.error().message);
    }
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

Status AddVariables(jobs::Command& command, const JobOptions& options) {
  for (const std::string& word : options.environment) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0) {
      return InvalidArgument("--env: '{}' is invalid; write NAME=VALUE", word);
    }
    const std::string name = word.substr(0, equals);
    const auto same = [&](const auto& other) { return other.first == name; };
    if (std::ranges::any_of(command.environment, same)) {
      return InvalidArgument("--env: '{}' is set twice", name);
    }
    command.environment.emplace_back(name, word.substr(equals + 1));
  }
  for (const std::string& name : options.identity_variables) {
    if (name.empty() || name.contains('=')) {
      return InvalidArgument("--identity-env: '{}' is not a variable name; write only the name",
                             name);
    }
    command.identity_variables.push_back(name);
  }
  command.inputs = options.inputs;
  return {};
}

void AddJobOption(CLI::App& app, const char* group, const JobOption& row, JobOptions& options) {
  std::visit(
      [&](auto member) {
        auto& target = TargetOf(options, member);
        if constexpr (std::is_same_v<decltype(target), bool&>) {
          app.add_flag(row.name, target, row.description)->group(group);
        } else {
          auto* option = app.add_option(row.name, target, row.description);
          option->type_name(row.type)->group(group)->allow_extra_args(false);
          // As a script has it of a variable that is not set.
          option->check([](const std::string& value) {
            return value.empty() ? "the value is empty; omit the option" : std::string();
          });
        }
      },
      row.target);
}

}  // namespace

void AddJobOptions(CLI::App& app, JobOptions& options) {
  for (const auto& [group, rows] : OptionGroups()) {
    for (const JobOption& row : rows) AddJobOption(app, group, row, options);
  }
}

void AddCommandOptions(CLI::App& app, JobOptions& options) {
  for (const auto& [group, rows] : OptionGroups()) {
    for (const JobOption& row : rows) {
      if (row.in_job_file || row.name == kJobFile) AddJobOption(app, group, row, options);
    }
  }
}

Result<jobs::RunRequest> ReadRequest(const JobOptions& options,
                                     const std::filesystem::path& folder) {
  jobs::RunRequest request = options.flags;
  Reader reader;
  if (options.workers != "auto") {
    reader.Read("--workers", options.workers, ParseWorkers, request.workers);
  }
  reader.Read("--max-workers", options.max_workers, ParseWorkers, request.max_workers);
  reader.Read("--halt", options.halt, ParseHalt, request.halt);
  reader.Read("--on-unknown", options.on_unknown, ParseOnUnknown, request.on_unknown);
  reader.Read("--retries", options.retries, ParseRetries, request.retries);
  reader.Read("--memory-reserve", options.memory_reserve, ParseBytes, request.memory_reserve);
  reader.Read("--cpu-budget", options.cpu_budget, ParsePositive, request.cpu_budget);
  reader.Read("--limits", options.limits, ParseLimits, request.limits);
  reader.Read("--output", options.output, ParseOutput, request.output);
  reader.Read("--shard", options.shard, jobs::ParseShard, request.shard);
  RETURN_IF_ERROR(reader.status());
  if (request.workers && request.max_workers && *request.workers > *request.max_workers) {
    return InvalidArgument("--workers {} exceeds --max-workers {}; omit one of them",
                           *request.workers, *request.max_workers);
  }
  if (!options.joblog.empty()) request.joblog = (folder / options.joblog).lexically_normal();
  if (!options.output_folder.empty()) {
    request.output_folder = (folder / options.output_folder).lexically_normal();
  }
  if (!options.export_folder.empty()) {
    request.export_folder = (folder / options.export_folder).lexically_normal();
    if (options.output_folder.empty()) {
      request.output_folder = request.export_folder / NameOf(request.shard.value_or(jobs::Shard{}));
    }
  }
  return request;
}

Result<jobs::Command> ReadCommand(const JobOptions& options, std::vector<std::string> arguments,
                                  const std::filesystem::path& folder) {
  jobs::Command command;
  command.shell = options.shell;
  command.arguments = std::move(arguments);
  if (options.shell) command.arguments = {fmt::format("{}", fmt::join(command.arguments, " "))};
  command.folder = options.folder.empty() ? folder : (folder / options.folder).lexically_normal();
  RETURN_IF_ERROR(AddVariables(command, options));
  Reader reader;
  reader.Read("--time-limit", options.time_limit, ParseDuration, command.time_limit);
  reader.Read("--priority", options.priority, ParsePriority, command.priority);
  reader.Read("--cpus", options.cpus, ParsePositive, command.claim.cpus);
  if (options.memory.contains('{')) {
    command.memory_template = options.memory;
  } else {
    reader.Read("--memory", options.memory, ParseBytes, command.claim.memory);
  }
  reader.Read("--gpu-memory", options.gpu_memory, ParseBytes, command.claim.gpu_memory);
  std::optional<std::uint64_t> cycles;
  std::optional<std::uint64_t> chain;
  reader.Read("--cycles", options.cycles, ParseFromOne, cycles);
  reader.Read("--chain", options.chain, ParseFromOne, chain);
  RETURN_IF_ERROR(reader.status());
  if (chain && !cycles) return InvalidArgument("--chain requires --cycles N");
  if (cycles) command.cycles = jobs::Cycles{.count = *cycles, .chain = chain.value_or(0)};
  if (command.time_limit && command.time_limit->count() == 0) {
    return InvalidArgument("--time-limit: must be positive; omit it for no limit");
  }
  return command;
}

Status CheckNoCommandOptions(const JobOptions& options) {
  const auto is_given = [&](auto member) {
    const auto& target = TargetOf(options, member);
    if constexpr (std::is_same_v<decltype(target), const bool&>) {
      return target;
    } else {
      return !target.empty();
    }
  };
  for (const auto& [group, rows] : OptionGroups()) {
    for (const JobOption& row : rows) {
      if (!row.in_job_file || !std::visit(is_given, row.target)) continue;
      return InvalidArgument("{} cannot be combined with --job; set it in the job file", row.name);
    }
  }
  return {};
}

}  // namespace reveza::cli

// Arrays: those that an earlier runner has left, and new ones.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "common/base/units.h"
#include "reveza/jobs/cluster/cluster_run.h"
#include "reveza/jobs/definition/identity.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kEndedArrays = "ended_arrays";  // journal key: their numbers
constexpr std::size_t kMaxSteps = 1'000'000;          // handed over at once
// For the runner and the supervisor beside a step.
constexpr Bytes kRunnerMemory = 64 * kMiB;

// Returns a name that no other job has, which the tasks of an array are found by.
std::string NameOfArray(const Job& job, const fs::path& folder, std::uint32_t number) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : folder.string()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return fmt::format("{}-{:08x}.{}", job.name, hash & 0xFFFFFFFF, number);
}

// Rounds up by at most an eighth, so that steps with similar claims share an array.
Bytes RoundUp(Bytes bytes) {
  const Bytes unit = std::max<Bytes>(16 * kMiB, std::bit_floor(bytes) / 8);
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Status ClusterRun::AdoptArrays() {
  ASSIGN_OR_RETURN(const auto numbers, ListArrays(settings_.folder));
  if (!numbers.empty()) last_array_ = numbers.back();
  ASSIGN_OR_RETURN(const auto kept, parts_.journal.Get(kEndedArrays));
  const auto list = nlohmann::json::parse(kept.value_or("[]"), nullptr, false);
  ended_arrays_ = list.is_array() ? list.get<std::set<std::uint32_t>>() : std::set<std::uint32_t>{};
  // The last array that has a step is the one that may still run it.
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    if (!ended_arrays_.contains(*number)) RETURN_IF_ERROR(AdoptArray(*number));
  }
  std::ranges::reverse(arrays_);
  if (!arrays_.empty()) {
    if (EngineOf(settings_.folder) != settings_.engine->kind()) {
      return MayRunElsewhere(settings_.folder);
    }
    std::size_t tasks = 0;
    for (const Array& array : arrays_) tasks += array.tasks.size();
    Report(fmt::format("{} of an earlier runner {} awaited, not submitted again",
                       Plural(tasks, "task"), tasks == 1 ? "is" : "are"));
  }
  return {};
}

Status ClusterRun::AdoptArray(std::uint32_t number) {
  Array array;
  array.number = number;
  array.place.folder = ArrayFolder(settings_.folder, number);
  array.place.name = NameOfArray(job_, settings_.folder, number);
  array.submitted = WasSubmitted(array.place.folder);
  ASSIGN_OR_RETURN(const auto files, ReadArray(array.place.folder));
  array.count = static_cast<std::uint32_t>(files.size());
  for (std::uint32_t i = 0; i < array.count; ++i) {
    Task task{.place = {array.place.folder, {i + 1, array.count}}};
    for (const auto& known : files[i].known) {
      const auto step = list_.Find(known.identity);
      const StepState state = step ? list_[*step].state : StepState::kDone;
      if (state == StepState::kDone || state == StepState::kFailed ||
          schedule_.state(*step) == Schedule::State::kRunning) {
        array.outdated = true;
        continue;
      }
      schedule_.Start(*step);
      task.steps.emplace(*step, known.attempts);
      if (state == StepState::kWaiting) continue;
      ASSIGN_OR_RETURN(const auto attempts, parts_.journal.Attempts(known.identity));
      if (attempts.empty()) continue;
      const AttemptResult& last = task.undecided[*step] = attempts.back().result;
      if (EndedByItself(last.outcome) && !retries_.RecordFailure(*step, last.outcome)) {
        task.failed = step;
      }
    }
    if (!task.steps.empty()) array.tasks.push_back(std::move(task));
  }
  if (!files.empty()) array.resources = ResourcesOfTask(files[0]);
  if (array.tasks.empty()) return EndArray(number);
  arrays_.push_back(std::move(array));
  return {};
}

Status ClusterRun::EndArray(std::uint32_t number) {
  ended_arrays_.insert(number);
  return parts_.journal.Set(kEndedArrays, nlohmann::json(ended_arrays_).dump());
}

Need ClusterRun::NeedOf(std::uint32_t step) const {
  Claim claim = CommandOf(step).claim;
  // A step added later may have an invalid size: its need is learned.
  if (const auto memory = parts_.expander->Memory(job_.steps[step]); memory && *memory) {
    claim.memory = *memory;
  }
  return claims_.Resolve(job_.steps[step].command, claim, 0);
}

TaskResources ClusterRun::ResourcesOf(std::uint32_t step) const {
  const Command& command = CommandOf(step);
  const Need need = NeedOf(step);
  TaskResources each;
  each.cpus = static_cast<unsigned>(std::max(1.0, std::ceil(need.cpus)));
  each.gpu = LaneOf(command) == Lane::kGpu;
  if (need.memory_source != ClaimSource::kGuessed) {
    // The limit of a declared claim is a tenth above it.
    const Bytes limit = need.memory_source == ClaimSource::kDeclared
                            ? MemoryLimitFor(need).value_or(need.memory)
                            : need.memory;
    each.memory = RoundUp(limit + kRunnerMemory);
  }
  if (command.time_limit) {
    each.time = std::chrono::ceil<std::chrono::minutes>(*command.time_limit);
  }
  return each;
}

TaskResources ClusterRun::ResourcesOfTask(const TaskFile& task) const {
  if (task.known.empty()) return {};
  const auto step = list_.Find(task.known[0].identity);
  return step ? ResourcesOf(*step) : TaskResources{};
}

Status ClusterRun::SubmitReady() {
  if (mode_ != Mode::kRunning || !trouble_.empty() || clock_.Now() < next_submit_) return {};
  for (Array& array : arrays_) {
    if (array.submitted || array.tasks.empty() || !trouble_.empty()) continue;
    RETURN_IF_ERROR(array.outdated ? Discard(array) : Submit(array));
  }
  std::size_t open = 0;
  for (const Array& array : arrays_) open += array.tasks.size();
  std::map<TaskResources, std::vector<std::uint32_t>> alike;
  if (open >= settings_.max_open || !trouble_.empty()) return {};
  for (const std::uint32_t step : schedule_.Ready(kMaxSteps)) {
    alike[ResourcesOf(step)].push_back(step);
  }
  for (const auto& [each, steps] : alike) {
    if (open >= settings_.max_open || !trouble_.empty()) return {};
    const auto room = static_cast<std::uint32_t>(settings_.max_open - open);
    RETURN_IF_ERROR(NewArray(each, steps, std::min(room, settings_.engine->max_task())));
    open += arrays_.back().tasks.size();
  }
  return {};
}

TaskFile ClusterRun::MakeTask(std::span<const std::uint32_t> steps, const TaskResources& each) {
  TaskFile task;
  task.job.name = job_.name;
  task.job.commands = job_.commands;
  for (const std::uint32_t step : steps) {
    const StepStatus& status = list_[step];
    Step& copy = task.job.steps.emplace_back(job_.steps[step]);
    copy.after.clear();
    copy.number = NumberOf(job_, step);
    Command& command = task.job.commands[copy.command];
    // A claim that a step died with is no limit any more; the engine's is.
    if (NeedOf(step).memory_source != ClaimSource::kDeclared) {
      command.claim.memory.reset();
      command.memory_template.clear();
    }
    std::uint64_t cycles = 0;
    if (command.cycles) {
      const auto first = parts_.journal.FirstMissingCycle(status.identity, command.cycles->count);
      cycles = first.value_or(1) - 1;
    }
    task.known.push_back({status.identity, status.attempts, cycles});
  }
  KeepUsedCommands(task.job);
  const RunRequest& request = parts_.request;
  task.request.retries = request.retries;
  task.request.on_unknown = request.on_unknown;
  task.request.limits = request.limits;
  task.request.durable = request.durable;
  task.request.cpu_budget = each.cpus;
  return task;
}

Status ClusterRun::NewArray(const TaskResources& each, std::span<const std::uint32_t> steps,
                            std::uint32_t max_tasks) {
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(steps.size(), max_tasks));
  // The first steps are the first of their tasks.
  std::vector<std::vector<std::uint32_t>> shares(count);
  for (std::size_t i = 0; i < steps.size(); ++i) shares[i % count].push_back(steps[i]);
  std::vector<TaskFile> files;
  for (const auto& share : shares) files.push_back(MakeTask(share, each));
  Array array;
  array.number = ++last_array_;
  array.place.name = NameOfArray(job_, settings_.folder, array.number);
  array.place.folder = ArrayFolder(settings_.folder, array.number);
  array.count = count;
  array.resources = each;
  if (each.time) array.resources.time = *each.time * static_cast<int>(shares[0].size()) + 5min;
  for (std::uint32_t i = 0; i < count; ++i) {
    Task task{.place = {array.place.folder, {i + 1, count}}};
    for (std::size_t position = 0; position < shares[i].size(); ++position) {
      const std::uint32_t step = shares[i][position];
      const std::string outputs = OutputsOfStep(task.place, position);
      RETURN_IF_ERROR(parts_.journal.SetFiles(list_[step].identity, outputs));
      list_.SetFiles(step, outputs);
      task.steps.emplace(step, list_[step].attempts);
    }
    array.tasks.push_back(std::move(task));
  }
  RETURN_IF_ERROR(WriteArray(settings_.folder, array.number, files,
                             settings_.engine->Script(settings_.reveza, array.place.folder)));
  RETURN_IF_ERROR(NoteArrays(parts_.journal, settings_.folder));
  for (const std::uint32_t step : steps) schedule_.Start(step);
  if (summary_.attempts == 0) RETURN_IF_ERROR(SaveRunRecord());
  summary_.attempts += steps.size();
  arrays_.push_back(std::move(array));
  return Submit(arrays_.back());
}

Status ClusterRun::Discard(Array& array) {
  // Tasks of it that start nevertheless find nothing.
  const fs::path away = settings_.folder / fmt::format(".array-{}.discarded", array.number);
  std::error_code error;
  fs::remove_all(away, error);
  fs::rename(array.place.folder, away, error);
  if (error) return std::unexpected(SystemError("cannot move " + away.string(), error.value()));
  return PutBack(array);
}

Status ClusterRun::Submit(Array& array) {
  // Before anything is submitted, so that a killed runner finds it.
  RETURN_IF_ERROR(parts_.journal.Commit());
  const auto taken = settings_.engine->Submit({.place = array.place,
                                               .tasks = array.count,
                                               .resources = array.resources,
                                               .reveza = settings_.reveza});
  next_query_ = clock_.Now() + settings_.query_interval;
  if (taken) {
    array.submitted = true;
    return MarkSubmitted(array.place.folder);
  }
  const bool is_only = std::ranges::none_of(arrays_, &Array::submitted);
  if (taken.error().code != Error::Code::kUnavailable && is_only) {
    std::error_code ignored;
    fs::remove_all(array.place.folder, ignored);
    return Fail(Error::Code::kInvalidArgument,
                "{}; these steps were not submitted, and the same command tries again",
                taken.error().message);
  }
  // It may have been taken: the next answer of the engine tells.
  next_submit_ = clock_.Now() + settings_.submit_delay;
  trouble_ = taken.error().message;
  ReportOnce(trouble_ + "; will try again");
  return {};
}

}  // namespace reveza::jobs

#include "jobs_show.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.h"
#include "exit_status.h"
#include "platform/runtime_paths.h"
#include "runner/control.h"
#include "runner/engine.h"
#include "runner/import_records.h"
#include "runner/job_folder.h"
#include "runner/journal.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using runner::JobFolder;
using runner::StepState;

struct Words {
  std::vector<std::string> names;
  bool json = false;
};

// Names and --json; anything else is refused.
Result<Words> Read(int argc, char** argv, std::size_t least, std::size_t most,
                   std::string_view usage) {
  Words words;
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

Result<JobFolder> Find(const std::string& name) {
  const auto state = runner::StateHome(platform::ProcessEnvironment);
  if (!state) return std::unexpected(state.error());
  return JobFolder::Find(*state, name);
}

int SayError(const Error& error) {
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

struct Counts {
  std::map<StepState, std::uint64_t> of;
  std::uint64_t all = 0;

  std::uint64_t Of(StepState state) const {
    const auto found = of.find(state);
    return found == of.end() ? 0 : found->second;
  }
};

// A job as it stands: its folder, its journal and the steps in it.
struct OpenedJournal {
  JobFolder folder;
  runner::Journal journal;
  std::vector<runner::StepEntry> steps;
};

Result<OpenedJournal> OpenJournal(const std::string& name) {
  auto folder = Find(name);
  if (!folder) return std::unexpected(folder.error());
  auto journal = runner::Journal::Open(folder->journal());
  if (!journal) return std::unexpected(journal.error());
  auto steps = journal->List();
  if (!steps) return std::unexpected(steps.error());
  return OpenedJournal{std::move(*folder), std::move(*journal), std::move(*steps)};
}

Counts Count(const std::vector<runner::StepEntry>& steps) {
  Counts counts;
  counts.all = steps.size();
  for (const auto& step : steps) {
    // Nobody runs it now, and it has failed: what else would a reader call it?
    const bool undecided = step.state == StepState::kUndecided;
    ++counts.of[undecided ? StepState::kFailed : step.state];
  }
  return counts;
}

json ToJson(const std::string& id, const Counts& counts, bool runs) {
  return {{"id", id},
          {"running", runs},
          {"steps",
           {{"all", counts.all},
            {"done", counts.Of(StepState::kDone)},
            {"failed", counts.Of(StepState::kFailed)},
            {"unknown", counts.Of(StepState::kUnknown)},
            {"waiting", counts.Of(StepState::kWaiting)}}}};
}

std::string TimeText(runner::WallTime at) {
  const std::time_t seconds = at / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

int Tell(int argc, char** argv, const char* request) {
  const auto words = Read(argc, argv, 1, 1, fmt::format("{} JOB", argv[0]));
  if (!words) return SayError(words.error());
  const auto folder = Find(words->names[0]);
  if (!folder) return SayError(folder.error());
  const auto answer = runner::AskRunner(folder->id(), {{"request", request}});
  if (!answer) return SayError(answer.error());
  if (answer->contains("error")) return Say(kFailed, (*answer)["error"].get<std::string>());
  return kDone;
}

void PrintStatus(const json& status) {
  const auto& steps = status["steps"];
  fmt::print("{}: {} of {} done, {} running, {} waiting, {} failed; {} workers\n",
             status["id"].get<std::string>(), steps["done"].get<std::uint64_t>(),
             steps["all"].get<std::uint64_t>(), steps["running"].get<std::uint64_t>(),
             steps["waiting"].get<std::uint64_t>(), steps["failed"].get<std::uint64_t>(),
             status["workers"]["best"].is_null() ? 0 : status["workers"]["best"].get<unsigned>());
}

}  // namespace

int ListJobs(int argc, char** argv) {
  const auto words = Read(argc, argv, 0, 0, "list [--json]");
  if (!words) return SayError(words.error());
  const auto state = runner::StateHome(platform::ProcessEnvironment);
  if (!state) return SayError(state.error());
  json all = json::array();
  for (const auto& name : JobFolder::All(*state)) {
    const auto folder = JobFolder::Find(*state, name);
    if (!folder) continue;
    auto journal = runner::Journal::Open(folder->journal());
    const auto list = journal ? journal->List() : std::unexpected(journal.error());
    if (!list) {
      all.push_back({{"id", name}, {"error", list.error().message}});
      continue;
    }
    all.push_back(ToJson(name, Count(*list), folder->IsLocked()));
  }
  if (words->json) {
    fmt::print("{}\n", all.dump(2));
    return kDone;
  }
  if (all.empty()) fmt::print("no jobs; reveza jobs run makes one\n");
  for (const auto& job : all) {
    if (job.contains("error")) {
      fmt::print("{:<32} {}\n", job["id"].get<std::string>(), job["error"].get<std::string>());
      continue;
    }
    const auto& steps = job["steps"];
    const auto failed = steps["failed"].get<std::uint64_t>();
    const auto unknown = steps["unknown"].get<std::uint64_t>();
    fmt::print("{:<32} {:>8} of {} done{}{}{}\n", job["id"].get<std::string>(),
               steps["done"].get<std::uint64_t>(), steps["all"].get<std::uint64_t>(),
               failed > 0 ? fmt::format(", {} failed", failed) : "",
               unknown > 0 ? fmt::format(", {} unknown", unknown) : "",
               job["running"].get<bool>() ? ", a runner works on it" : "");
  }
  return kDone;
}

int ShowJob(int argc, char** argv) {
  const auto words = Read(argc, argv, 1, 1, "show JOB [--json]");
  if (!words) return SayError(words.error());
  auto job = OpenJournal(words->names[0]);
  if (!job) return SayError(job.error());
  auto& [folder, journal, list] = *job;
  const Counts counts = Count(list);
  json shown = ToJson(folder.id(), counts, folder.IsLocked());
  json failed = json::array();
  std::size_t number = 0;
  for (const auto& step : list) {
    ++number;
    if (step.state == StepState::kWaiting || step.state == StepState::kDone) continue;
    const auto attempts = journal.Attempts(step.identity);
    if (!attempts || attempts->empty()) continue;
    const auto& last = attempts->back().result;
    failed.push_back({{"step", number},
                      {"label", step.label},
                      {"outcome", ToText(last.outcome)},
                      {"code", last.code},
                      {"attempts", attempts->size()},
                      {"ended", last.ended},
                      {"errors", (folder.outputs() / step.files).string() + ".err"}});
  }
  shown["failed"] = failed;
  shown["outputs"] = folder.outputs().string();
  if (words->json) {
    fmt::print("{}\n", shown.dump(2, ' ', false, json::error_handler_t::replace));
    return kDone;
  }
  const auto& steps = shown["steps"];
  fmt::print("{}: {} of {} steps done, {} failed, {} unknown, {} waiting{}\n", folder.id(),
             steps["done"].get<std::uint64_t>(), counts.all, steps["failed"].get<std::uint64_t>(),
             steps["unknown"].get<std::uint64_t>(), steps["waiting"].get<std::uint64_t>(),
             folder.IsLocked() ? "; a runner works on it" : "");
  fmt::print("outputs: {}\n", folder.outputs().string());
  constexpr std::size_t kMostShown = 20;
  for (std::size_t i = 0; i < failed.size() && i < kMostShown; ++i) {
    const auto& one = failed[i];
    fmt::print("  step {} ({}): {}, code {}, {} attempts, last {}\n",
               one["step"].get<std::size_t>(), one["label"].get<std::string>(),
               one["outcome"].get<std::string>(), one["code"].get<int>(),
               one["attempts"].get<std::size_t>(), TimeText(one["ended"].get<runner::WallTime>()));
  }
  if (failed.size() > kMostShown) {
    fmt::print("  and {} more (--json lists all)\n", failed.size() - kMostShown);
  }
  return kDone;
}

int ShowLogs(int argc, char** argv) {
  const auto words = Read(argc, argv, 2, 2, "logs JOB STEP");
  if (!words) return SayError(words.error());
  auto job = OpenJournal(words->names[0]);
  if (!job) return SayError(job.error());
  auto& [folder, journal, list] = *job;
  // By its number, or as it is called.
  std::optional<runner::StepEntry> step;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (words->names[1] == std::to_string(i + 1) || words->names[1] == list[i].label) {
      step = list[i];
      break;
    }
  }
  if (!step) {
    return Say(kUsage, fmt::format("job {} has no step '{}'; there are 1 to {}", folder.id(),
                                   words->names[1], list.size()));
  }
  for (const auto& [suffix, stream] : {std::pair{".out", stdout}, std::pair{".err", stderr}}) {
    std::ifstream file((folder.outputs() / step->files).string() + suffix, std::ios::binary);
    char part[65536];
    while (file.read(part, sizeof(part)) || file.gcount() > 0) {
      std::fwrite(part, 1, static_cast<std::size_t>(file.gcount()), stream);
    }
  }
  return std::fflush(stdout) == 0 ? kDone : kOutput;
}

int WhyJob(int argc, char** argv) {
  const auto words = Read(argc, argv, 1, 1, "why JOB");
  if (!words) return SayError(words.error());
  const auto folder = Find(words->names[0]);
  if (!folder) return SayError(folder.error());
  const auto status = runner::AskRunner(folder->id(), {{"request", "status"}});
  if (!status) return SayError(status.error());
  PrintStatus(*status);
  const auto& waiting = (*status)["waiting"];
  const auto& reason = (*status)["workers"]["reason"];
  if (waiting.is_string()) fmt::print("the next step waits: {}\n", waiting.get<std::string>());
  if (reason.is_string()) fmt::print("number of workers: {}\n", reason.get<std::string>());
  if (!waiting.is_string() && !reason.is_string()) {
    fmt::print("nothing waits but for a worker to be free\n");
  }
  return kDone;
}

int TuneJob(int argc, char** argv) {
  const auto words = Read(argc, argv, 1, 1, "tune JOB");
  if (!words) return SayError(words.error());
  const auto folder = Find(words->names[0]);
  if (!folder) return SayError(folder.error());
  std::string text;
  if (const auto answer = runner::AskRunner(folder->id(), {{"request", "tune"}})) {
    text = answer->value("text", "");
  } else {
    auto journal = runner::Journal::Open(folder->journal());
    if (!journal) return SayError(journal.error());
    const auto kept = journal->Get(runner::kTuning);
    if (!kept) return SayError(kept.error());
    text = kept->value_or("");
  }
  if (text.empty()) text = "only one number of workers was tried\n";
  fmt::print("{}", text);
  return kDone;
}

int FollowJob(int argc, char** argv) {
  const auto words = Read(argc, argv, 1, 1, "follow JOB");
  if (!words) return SayError(words.error());
  const auto folder = Find(words->names[0]);
  if (!folder) return SayError(folder.error());
  bool seen = false;
  for (;;) {
    const auto status = runner::AskRunner(folder->id(), {{"request", "status"}});
    if (!status) {
      if (!seen) return SayError(status.error());
      fmt::print("the runner has ended\n");
      return kDone;
    }
    seen = true;
    PrintStatus(*status);
    if (std::fflush(stdout) != 0) return kOutput;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

int WaitForJob(int argc, char** argv) {
  const auto words = Read(argc, argv, 1, 1, "wait JOB");
  if (!words) return SayError(words.error());
  const auto folder = Find(words->names[0]);
  if (!folder) return SayError(folder.error());
  while (folder->IsLocked()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto job = OpenJournal(words->names[0]);
  if (!job) return SayError(job.error());
  const Counts counts = Count(job->steps);
  return counts.Of(StepState::kDone) == counts.all ? kDone : kFailedSteps;
}

int PauseJob(int argc, char** argv) { return Tell(argc, argv, "pause"); }
int ResumeJob(int argc, char** argv) { return Tell(argc, argv, "resume"); }
int StopJob(int argc, char** argv) { return Tell(argc, argv, "stop"); }
int CancelJob(int argc, char** argv) { return Tell(argc, argv, "cancel"); }

int RepairJob(int argc, char** argv) {
  const auto words = Read(argc, argv, 1, 1, "repair JOB");
  if (!words) return SayError(words.error());
  const auto folder = Find(words->names[0]);
  if (!folder) return SayError(folder.error());
  const auto lock = folder->Lock();
  if (!lock) return SayError(lock.error());
  runner::Imported imported;
  const auto journal = runner::RebuildJournal(*folder, imported);
  if (!journal) return SayError(journal.error());
  fmt::print(
      "{} attempts are known again, of {} nobody saw the end; the same reveza jobs run goes "
      "on from here\n",
      imported.attempts, imported.unknown);
  return kDone;
}

int PruneJob(int argc, char** argv) {
  const auto words = Read(argc, argv, 1, 1, "prune JOB");
  if (!words) return SayError(words.error());
  const auto folder = Find(words->names[0]);
  if (!folder) return SayError(folder.error());
  const auto lock = folder->Lock();
  if (!lock) return SayError(lock.error());
  std::error_code error;
  fs::remove_all(folder->path(), error);
  if (error)
    return Say(kOutput,
               fmt::format("cannot remove {}: {}", folder->path().string(), error.message()));
  return kDone;
}

}  // namespace reveza::cli

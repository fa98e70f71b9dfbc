#include "reveza/jobs/journal/merge_journals.h"

#include <algorithm>
#include <map>
#include <utility>

#include "reveza/jobs/journal/verify_outputs.h"

namespace reveza::jobs {
namespace {

// What the other journal has, verified before anything is changed.
struct Contents {
  std::vector<StepEntry> steps;
  std::vector<AttemptEntry> attempts;
  std::vector<CycleResult> cycles;
};

Result<Contents> ReadAll(JournalReader& source) {
  Contents all;
  RETURN_IF_ERROR(source.ForEachStep([&](const auto& step) { all.steps.push_back(step); }));
  RETURN_IF_ERROR(
      source.ForEachAttempt([&](const auto& attempt) { all.attempts.push_back(attempt); }));
  RETURN_IF_ERROR(source.ForEachCycle([&](const auto& cycle) { all.cycles.push_back(cycle); }));
  return all;
}

// Two machines may use the same number for different attempts.
bool IsSame(const AttemptEntry& one, const AttemptEntry& other) {
  return one.result.began == other.result.began && one.result.ended == other.result.ended &&
         one.result.pid == other.result.pid && one.result.outcome == other.result.outcome &&
         one.extra.boot == other.extra.boot;
}

class Merger {
 public:
  Merger(const Contents& source, const std::filesystem::path& outputs, Journal& journal)
      : source_(source), outputs_(outputs), journal_(journal) {}

  Result<MergeResult> Run() {
    std::vector<ListedStep> steps;
    for (const StepEntry& step : source_.steps) {
      steps.push_back({step.identity, step.label});
      files_[step.identity] = (outputs_ / step.files).string();
    }
    ASSIGN_OR_RETURN(merged_.steps, journal_.Append(steps));
    for (const AttemptEntry& attempt : source_.attempts) {
      RETURN_IF_ERROR(Add(attempt));
    }
    for (CycleResult cycle : source_.cycles) {
      const auto number = numbers_.find({cycle.name.identity, cycle.name.attempt});
      if (number != numbers_.end()) cycle.name.attempt = number->second;
      ASSIGN_OR_RETURN(const auto added, journal_.RecordCycle(cycle));
      static_cast<void>(added);
    }
    // Outputs of other machines are not verified when this one was restarted.
    RETURN_IF_ERROR(journal_.Set(kBarrierKey, std::to_string(journal_.last_sequence())));
    RETURN_IF_ERROR(journal_.Commit());
    return std::move(merged_);
  }

 private:
  Status Add(AttemptEntry attempt) {
    AttemptName& name = attempt.result.name;
    const auto files = files_.find(name.identity);
    if (files == files_.end()) return {};  // of a step that is no longer listed
    ASSIGN_OR_RETURN(const auto known, journal_.Attempts(name.identity));
    if (std::ranges::any_of(known, [&](const auto& other) { return IsSame(attempt, other); })) {
      return {};
    }
    ASSIGN_OR_RETURN(const auto step, journal_.Find(name.identity));
    const bool was_done = step->state == StepState::kDone;
    const bool succeeded = attempt.result.outcome == Outcome::kSuccess;
    if (was_done && succeeded) merged_.duplicates.push_back(step->label);
    const std::uint32_t number =
        known.empty() ? name.attempt : std::max(known.back().result.name.attempt + 1, name.attempt);
    numbers_[{name.identity, std::exchange(name.attempt, number)}] = number;
    ASSIGN_OR_RETURN(const auto added, journal_.RecordAttempt(attempt.result, attempt.extra));
    merged_.attempts += added ? 1 : 0;
    if (!was_done) {
      RETURN_IF_ERROR(journal_.SetFiles(name.identity, files->second));
    }
    return {};
  }

  const Contents& source_;
  const std::filesystem::path& outputs_;
  Journal& journal_;
  MergeResult merged_;
  std::map<Identity, std::string> files_;
  std::map<std::pair<Identity, std::uint32_t>, std::uint32_t> numbers_;  // of attempts, here
};

}  // namespace

Result<MergeResult> MergeJournal(JournalReader& source, const std::filesystem::path& outputs,
                                 Journal& journal) {
  ASSIGN_OR_RETURN(const auto contents, ReadAll(source));
  return Merger(contents, outputs, journal).Run();
}

}  // namespace reveza::jobs

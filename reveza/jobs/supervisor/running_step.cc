#include "reveza/jobs/supervisor/running_step.h"

#include <sys/wait.h>

namespace reveza::jobs {
namespace {

// Briefer steps are looked at when they exit only.
constexpr std::int64_t kLookInterval = kSecond;

}  // namespace

void RecordExit(RunningStep& step, int status, const rusage& usage) {
  AttemptResult& result = step.result;
  step.ended = true;
  if (WIFEXITED(status)) {
    result.outcome = WEXITSTATUS(status) == 0 ? Outcome::kSuccess : Outcome::kFailure;
    result.code = WEXITSTATUS(status);
  } else {
    result.outcome = Outcome::kSignal;
    result.code = WTERMSIG(status);
  }
  result.user_time = Nanoseconds(usage.ru_utime);
  result.system_time = Nanoseconds(usage.ru_stime);
  result.largest_resident = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  // The wall clock may be set while a step runs.
  result.ended = result.began + (Now() - step.began);
}

void LookAtDisk(RunningStep& step, DiskSpace& space, std::int64_t now) {
  if (step.look_at == 0) step.look_at = step.began + kLookInterval;
  if (step.ended || step.saw_full_disk || now < step.look_at) return;
  const std::string& output = step.request.output;
  step.saw_full_disk = !space.HasRoom(output.substr(0, output.rfind('/')), now);
  step.look_at = now + kLookInterval;
}

std::int64_t NextTimer(const RunningStep& step, std::int64_t retry_at) {
  std::int64_t next = 0;
  const auto consider = [&next](std::int64_t time) {
    if (time != 0 && (next == 0 || time < next)) next = time;
  };
  if (step.request.time_limit > 0 && !step.ended && !step.end_reason && step.paused_since == 0) {
    consider(step.began + step.result.paused + step.request.time_limit);
  }
  if (step.ended && step.judge_at > Now()) consider(step.judge_at);
  consider(step.kill_at);
  consider(step.announce_at);
  if (!step.ended) consider(step.publish_at);
  consider(retry_at);
  if (!step.ended && !step.saw_full_disk) consider(step.look_at);
  return next;
}

bool HasLastCycle(const RunningStep& step) {
  return step.request.cycles > 0 && step.last_cycle >= step.request.cycles;
}

// A step that was told to end may exit with status 0 without having finished: only its last cycle
// proves that it has.
Outcome JudgeOutcome(const RunningStep& step, bool tap_lost_output) {
  const Outcome outcome = step.result.outcome;
  const std::uint64_t cycles = step.request.cycles;
  if (step.end_reason && !(outcome == Outcome::kSuccess && HasLastCycle(step))) {
    return *step.end_reason;
  }
  if (outcome != Outcome::kSuccess) return outcome;
  const bool was_full = step.disk_was_full || step.saw_full_disk;
  if (was_full || (cycles > 0 && tap_lost_output)) return Outcome::kOutputLost;
  return cycles == 0 || HasLastCycle(step) ? outcome : Outcome::kPartial;
}

}  // namespace reveza::jobs

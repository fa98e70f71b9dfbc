// How many threads can really exist at once: tried out, with the limits of the subject.
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "doctor/checks.h"
#include "platform/host_memory.h"

namespace reveza::doctor {
namespace {

constexpr std::uint64_t kTries = 1024;
constexpr std::uint64_t kDeepTries = 32768;
constexpr std::uint64_t kFew = 64;
constexpr Bytes kEach = 40 * kKiB;  // what a waiting thread holds: kernel stack, pages touched
constexpr std::size_t kLeastStack = 64 * kKiB;

void* Wait(void*) {
  for (;;) pause();
}

void Lower(int resource, std::uint64_t to) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(to, limit.rlim_cur);
  setrlimit(resource, &limit);
}

// This process becomes as limited as the subject: what is left to the subject is left to it.
void TakeLimits(const ProcessView& process) {
  if (!process.limits) return;
  const platform::ProcessUse own = platform::ReadProcessUse(0);
  const auto lower = [](int resource, const platform::Limit& limit,
                        std::optional<std::uint64_t> used, std::optional<std::uint64_t> ours) {
    if (!limit.soft || !ours) return;
    Lower(resource, *ours + *limit.soft - std::min(*limit.soft, used.value_or(0)));
  };
  const auto space =
      process.use.address_space ? process.use.address_space : process.use.address_peak;
  lower(RLIMIT_AS, process.limits->address_space, space, own.address_space);
  lower(RLIMIT_DATA, process.limits->data, process.use.data, own.data);
  if (process.limits->processes.soft) Lower(RLIMIT_NPROC, *process.limits->processes.soft);
}

struct Room {
  std::uint64_t threads = 0;
  const char* why = nullptr;  // it is less than wanted, so that others keep enough
};

// At most half of what is left to all: nobody else shall fail because of the probe.
Room RoomFor(std::uint64_t wanted, const Subject& subject) {
  Room room{wanted, nullptr};
  const auto bound = [&](std::uint64_t left, const char* why) {
    if (left / 2 < room.threads) room = {left / 2, why};
  };
  if (const auto tasks = platform::ReadCgroupTasks(subject.pid, subject.root)) {
    bound(tasks->limit - std::min(tasks->limit, tasks->used), "the control group's pids.max");
  }
  const platform::KernelLimits kernel = platform::ReadKernelLimits(subject.root);
  for (const auto& limit : {kernel.threads_max, kernel.pid_max}) {
    if (limit && kernel.threads_now) {
      bound(*limit - std::min(*limit, *kernel.threads_now), "the machine's count of threads");
    }
  }
  if (const auto memory = platform::MemoryHeadroom(subject.root)) {
    bound(*memory / kEach, "free memory");
  }
  return room;
}

std::size_t StackOf(const ProcessView& process) {
  constexpr std::size_t kIfUnlimited = 2 * kMiB;  // as the C library has it
  if (!process.limits || !process.limits->stack.soft) return kIfUnlimited;
  return std::max<std::size_t>(*process.limits->stack.soft / kKiB * kKiB, kLeastStack);
}

}  // namespace

Findings CheckThreads(const Subject& subject) {
  const auto processes = Processes(subject);
  if (processes.empty()) return {};
  // One with a limit has more to say than the shell that started it.
  const auto limited = std::ranges::find_if(processes, [](const ProcessView& view) {
    return view.limits && (view.limits->address_space.soft || view.limits->data.soft);
  });
  const ProcessView& process = limited == processes.end() ? processes.front() : *limited;
  const std::uint64_t wanted = subject.deep ? kDeepTries : kTries;
  const Room room = RoomFor(wanted, subject);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return {};
  const std::size_t stack = StackOf(process);
  pthread_attr_setstacksize(&attributes, stack);
  TakeLimits(process);
  std::uint64_t alive = 0;
  int error = 0;
  for (; alive < room.threads && error == 0; alive += error == 0 ? 1 : 0) {
    pthread_t thread{};
    error = pthread_create(&thread, &attributes, Wait, nullptr);
  }
  Finding finding{.id = Id::kThreadProbe,
                  .severity = Severity::kFine,
                  .sure = Sureness::kMeasured,
                  .observed = fmt::format("{} threads with stacks of {} KiB existed at once", alive,
                                          stack / kKiB),
                  .limit = "",
                  .why = "",
                  .fix = ""};
  if (error != 0) {
    finding.severity = alive < kFew ? Severity::kFatal : Severity::kWarning;
    finding.observed += fmt::format("; the next could not be started: {}", std::strerror(error));
    finding.limit = fmt::format("{} threads more than now", alive);
    finding.why = "a program that starts more of them fails, or does with fewer without a word";
    finding.fix =
        "see the other findings for the limit that is met, or reveza doctor -v; "
        "OMP_NUM_THREADS and smaller stacks (ulimit -s 1024) need less";
  } else if (room.why != nullptr) {
    finding.observed +=
        fmt::format("; more were not tried, to leave half of {} to others", room.why);
  }
  return {finding};
}

}  // namespace reveza::doctor

// Probes how many threads can exist at once under the limits of the subject, and whether two CPUs
// do twice the work of one.
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "common/base/bytes.h"
#include "common/platform/machine.h"
#include "common/platform/text_file.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace {

constexpr std::uint64_t kTries = 1024;
constexpr std::uint64_t kDeepTries = 32768;
constexpr std::uint64_t kMinThreadsAlive = 64;
constexpr Bytes kThreadMemory = 40 * kKiB;  // of a waiting thread: kernel stack, touched pages
constexpr std::size_t kMinStack = 64 * kKiB;

void* Wait(void*) {
  for (;;) pause();
}

void Lower(int resource, std::uint64_t to) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(to, limit.rlim_cur);
  setrlimit(resource, &limit);
}

// Lowers the limits of this process so that it has as much left as the subject.
void ApplyLimits(const ProcessView& process) {
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
  const char* why = nullptr;  // why `threads` is less than wanted
};

// Uses at most half of what is left, so that the probe does not make other programs fail.
Room ProbeSize(std::uint64_t wanted, const Subject& subject) {
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
      bound(*limit - std::min(*limit, *kernel.threads_now), "the machine's threads");
    }
  }
  if (const auto memory = platform::MemoryHeadroom(subject.root)) {
    bound(*memory / kThreadMemory, "free memory");
  }
  return room;
}

std::size_t StackOf(const ProcessView& process) {
  constexpr std::size_t kIfUnlimited = 2 * kMiB;  // glibc's default
  if (!process.limits || !process.limits->stack.soft) return kIfUnlimited;
  return std::max<std::size_t>(*process.limits->stack.soft / kKiB * kKiB, kMinStack);
}

using Clock = std::chrono::steady_clock;

constexpr auto kRound = std::chrono::milliseconds(60);
constexpr int kRounds = 5;
constexpr double kMinSpeedup = 1.75;
constexpr double kMinCpuShare = 0.9;

struct Work {
  std::uint64_t steps = 0;
  double cpu_seconds = 0;
};

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Work BusyOn(int cpu, const std::atomic<bool>& go) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  while (!go) sched_yield();
  Work work;
  const double begin = CpuSeconds();
  const auto end = Clock::now() + kRound;
  // Independent dependency chains fill the execution units that hardware threads share.
  std::uint64_t a = 1;
  std::uint64_t b = 2;
  std::uint64_t c = 3;
  std::uint64_t d = 4;
  while (Clock::now() < end) {
    for (int i = 0; i < 2000; ++i) {
      a = a * 6364136223846793005U + b;
      b = b * 3935559000370003845U + c;
      c = c * 2685821657736338717U + d;
      d = d * 1181783497276652981U + a;
    }
    work.steps += 2000;
  }
  work.cpu_seconds = CpuSeconds() - begin;
  static std::atomic<std::uint64_t> kept;
  kept = a ^ b ^ c ^ d;
  return work;
}

std::vector<Work> Round(const std::vector<int>& cpus) {
  std::vector<Work> works(cpus.size());
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    threads.emplace_back([&, i] { works[i] = BusyOn(cpus[i], go); });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  return works;
}

std::string SiblingsOf(int cpu) {
  return platform::ReadText(
             fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu))
      .value_or("");
}

}  // namespace

Findings CheckThreads(const Subject& subject) {
  const auto processes = Processes(subject);
  if (processes.empty()) return {};
  // Prefers a limited process to the shell that started it.
  const auto limited = std::ranges::find_if(processes, [](const ProcessView& view) {
    return view.limits && (view.limits->address_space.soft || view.limits->data.soft);
  });
  const ProcessView& process = limited == processes.end() ? processes.front() : *limited;
  const std::uint64_t wanted = subject.deep ? kDeepTries : kTries;
  const Room room = ProbeSize(wanted, subject);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return {};
  const std::size_t stack = StackOf(process);
  pthread_attr_setstacksize(&attributes, stack);
  ApplyLimits(process);
  std::uint64_t alive = 0;
  int error = 0;
  for (; alive < room.threads && error == 0; alive += error == 0 ? 1 : 0) {
    pthread_t thread{};
    error = pthread_create(&thread, &attributes, Wait, nullptr);
  }
  Finding finding{.id = Id::kThreadProbe,
                  .confidence = Confidence::kMeasured,
                  .observed = fmt::format("{} threads with stacks of {} KiB existed at once", alive,
                                          stack / kKiB)};
  if (error != 0) {
    finding.observed += fmt::format("; the next could not be started: {}", std::strerror(error));
    finding.limit = fmt::format("{} more threads", alive);
    finding.Raise(
        alive < kMinThreadsAlive ? Severity::kFatal : Severity::kWarning,
        "a program that starts more fails, or silently uses fewer",
        "see the other findings for the limit, or reveza doctor -v; lower OMP_NUM_THREADS, or use "
        "smaller stacks (ulimit -s 1024)");
  } else if (room.why != nullptr) {
    finding.observed +=
        fmt::format("; more were not tried, to leave half of {} to others", room.why);
  }
  return {finding};
}

std::optional<CoresMeasured> MeasureCores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return std::nullopt;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  if (cpus.size() < 2) return std::nullopt;
  const std::string core = SiblingsOf(cpus[0]);
  int other = cpus[1];
  bool siblings = false;
  for (std::size_t i = 1; i < cpus.size() && !siblings && !core.empty(); ++i) {
    siblings = SiblingsOf(cpus[i]) == core;
    if (siblings) other = cpus[i];
  }
  // The best of several rounds: interference only slows down.
  CoresMeasured best;
  best.siblings = siblings;
  std::uint64_t alone = 0;
  std::uint64_t both = 0;
  for (int i = 0; i < kRounds; ++i) {
    alone = std::max(alone, Round({cpus[0]})[0].steps);
    const auto two = Round({cpus[0], other});
    if (two[0].steps + two[1].steps <= both) continue;
    both = two[0].steps + two[1].steps;
    best.cpu_part = (two[0].cpu_seconds + two[1].cpu_seconds) /
                    (2 * std::chrono::duration<double>(kRound).count());
  }
  if (alone == 0) return std::nullopt;
  best.both = static_cast<double>(both) / static_cast<double>(alone);
  return best;
}

Finding DiagnoseCores(const CoresMeasured& measured) {
  const bool whole = measured.both >= kMinSpeedup;
  const bool disturbed = measured.cpu_part < kMinCpuShare;
  Finding finding{
      .id = Id::kPartialCores,
      .confidence = Confidence::kMeasured,
      .observed = fmt::format("two busy threads on two CPUs did {:.2f} times the work of one",
                              measured.both)};
  if (whole) return finding;
  if (disturbed) {
    finding.observed += fmt::format(", but they had their CPUs for {:.0f} % of the time only",
                                    100 * measured.cpu_part);
    return finding.Raise(
        Severity::kNote,
        "other processes or a quota interfered, so this says little about the cores",
        "run the doctor again when the machine is idle");
  }
  finding.limit = "2.00 for separate cores";
  return finding.Raise(
      measured.siblings ? Severity::kNote : Severity::kWarning,
      measured.siblings
          ? "they are two hardware threads of one core and share its execution units"
          : "they are reported as separate cores but share one (a virtual machine with "
            "half cores), or the clock rate drops when both are busy",
      fmt::format(
          "expect {:.1f} of one core from two workers; let reveza jobs run --workers auto find the "
          "number",
          measured.both));
}

Findings CheckCores(const Subject&) {
  const auto measured = MeasureCores();
  if (!measured) return {};
  return {DiagnoseCores(*measured)};
}

}  // namespace reveza::doctor

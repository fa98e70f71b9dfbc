#include "doctor/cores.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "doctor/checks.h"
#include "platform/text_file.h"

namespace reveza::doctor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kRound = std::chrono::milliseconds(60);
constexpr int kRounds = 5;
constexpr double kWhole = 1.75;
constexpr double kUndisturbed = 0.9;

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
  // Several chains at once, as real programs have: they fill the units that siblings share.
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
  // The best of several rounds: whatever disturbs makes less, never more.
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

Finding JudgeCores(const CoresMeasured& measured) {
  const bool whole = measured.both >= kWhole;
  const bool disturbed = measured.cpu_part < kUndisturbed;
  Finding finding{.id = Id::kPartialCores,
                  .severity = Severity::kFine,
                  .sure = Sureness::kMeasured,
                  .observed = fmt::format("two busy threads on two CPUs did {:.2f} times the work "
                                          "of one",
                                          measured.both),
                  .limit = "",
                  .why = "",
                  .fix = ""};
  if (whole) return finding;
  if (disturbed) {
    finding.severity = Severity::kNote;
    finding.observed += fmt::format(", but they had their CPUs for {:.0f} % of the time only",
                                    100 * measured.cpu_part);
    finding.why =
        "others use the CPUs at the same time, or a quota holds them back, so this says "
        "little about the cores";
    finding.fix = "run the doctor again when the machine is idle";
    return finding;
  }
  finding.severity = measured.siblings ? Severity::kNote : Severity::kWarning;
  finding.limit = "2.00 of whole cores";
  finding.why = measured.siblings
                    ? "they are two hardware threads of one core, and share what it has"
                    : "the machine says that they are cores, but they share one (a virtual machine "
                      "of which the host gives half), or the clock falls when both work";
  finding.fix = fmt::format(
      "expect {:.1f} of one core from two workers; let reveza jobs run "
      "--workers auto find the number",
      measured.both);
  return finding;
}

Findings CheckCores(const Subject&) {
  const auto measured = MeasureCores();
  if (!measured) return {};
  return {JudgeCores(*measured)};
}

}  // namespace reveza::doctor

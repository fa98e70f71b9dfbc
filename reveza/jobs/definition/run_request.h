// The options of a run, as requested; what is run is in job.h.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "reveza/jobs/definition/shard.h"

namespace reveza::jobs {

// Engines that distribute the steps of a job to machines.
enum class ClusterKind : std::uint8_t { kNone, kSlurm, kRay, kKubernetes };
struct ClusterNames {
  ClusterKind kind;
  std::string_view word;  // the value of --on
  std::string_view name;
};
inline constexpr std::array kClusters = {
    ClusterNames{ClusterKind::kSlurm, "slurm", "Slurm"},
    ClusterNames{ClusterKind::kRay, "ray", "Ray"},
    ClusterNames{ClusterKind::kKubernetes, "kubernetes", "Kubernetes"}};
// Not of kNone.
constexpr const ClusterNames& NamesOf(ClusterKind kind) {
  return kClusters.at(static_cast<std::size_t>(kind) - 1);
}

// What pods are made of that run steps.
struct PodOptions {
  std::string image{};                   // empty: that of the template
  std::vector<std::string> volumes{};    // CLAIM:/PATH, /PATH or /PATH:/PATH
  std::filesystem::path pod_template{};  // a manifest (absolute); empty: none

  bool operator==(const PodOptions&) const = default;
};

// A bound for a metric that steps report, such as loss<0.05.
struct MetricGoal {
  enum class Relation { kBelow, kAtMost, kAbove, kAtLeast };
  std::string metric;
  Relation relation = Relation::kBelow;
  double value = 0;

  bool IsMetBy(double reported) const;
  bool operator==(const MetricGoal&) const = default;
};

// Parses NAME<VALUE, and the same with <=, > or >=. kInvalidArgument states the form.
Result<MetricGoal> ParseGoal(std::string_view text);
std::string ToText(const MetricGoal& goal);

// When to stop a job before all steps have run: enough failed, or one has reached a goal.
struct Halt {
  enum class Mode {
    kNever,  // run every step
    kSoon,   // start no further steps, let running ones finish
    kNow,    // cancel running steps too
  };
  Mode mode = Mode::kNever;
  // Exactly one of these is set unless `mode` is kNever.
  std::optional<std::uint64_t> failures{};  // number of failed steps, at least 1
  std::optional<double> share{};            // fraction of all steps, in (0, 1]
  std::optional<MetricGoal> goal{};

  // Returns whether so many of the steps of a job have failed.
  bool IsReachedBy(std::uint64_t failed, std::uint64_t steps) const {
    return mode != Mode::kNever &&
           ((failures && failed >= *failures) ||
            (share && static_cast<double>(failed) >= *share * static_cast<double>(steps)));
  }
  bool operator==(const Halt&) const = default;
};

// What to do with a step whose last attempt has an unknown outcome.
enum class OnUnknown {
  kRetry,  // run it again
  kHold,   // leave it to the user
};

// How the memory limits of steps are enforced.
enum class Limits {
  kAuto,     // the first available of the following
  kCgroup,   // a control group per step
  kSystemd,  // a scope of systemd's user manager
  kWatch,    // measured once a second and killed
  kNone,     // not enforced
};

// What is printed of what steps write.
enum class Output {
  kAuto,       // kTag for a few steps on a terminal, else kNone
  kNone,       // nothing
  kTag,        // each line, after the label of its step
  kKeepOrder,  // whole outputs in the order of the steps
};

struct RunRequest {
  std::optional<unsigned> workers;      // fixed number, at least 1; absent: tuned by throughput
  std::optional<unsigned> max_workers;  // at least 1

  Halt halt;
  OnUnknown on_unknown = OnUnknown::kRetry;
  unsigned retries = 0;                   // further attempts of a failed step
  unsigned memory_retries = 3;            // likewise, of one that ran out of memory
  bool retry_failed = false;              // rerun steps that failed in an earlier run
  bool force = false;                     // rerun finished steps too
  bool rerun_if_program_changed = false;  // rerun steps finished by another program version

  std::optional<Bytes> memory_reserve;  // host memory left to other processes
  std::optional<double> cpu_budget;     // cores for all steps together, above 0
  Limits limits = Limits::kAuto;

  Output output = Output::kAuto;
  // Run only this part of the steps; its journal is copied to `export_folder` (absolute; empty:
  // not).
  std::optional<Shard> shard{};
  std::filesystem::path export_folder{};
  std::chrono::seconds export_interval{30};

  // Unless kNone, steps run there, where machines find them in `shared_folder` (absolute).
  ClusterKind cluster = ClusterKind::kNone;
  std::filesystem::path shared_folder{};
  PodOptions pods{};  // on Kubernetes

  bool detach = false;                  // run in the background, without a terminal
  bool durable = false;                 // sync each commit to disk
  bool dry_run = false;                 // print what would run
  bool json = false;                    // print events as JSON lines
  bool quiet = false;                   // print no progress
  std::filesystem::path joblog;         // absolute; empty: no job log
  std::filesystem::path output_folder;  // empty: beside the journal

  bool operator==(const RunRequest&) const = default;
};

}  // namespace reveza::jobs

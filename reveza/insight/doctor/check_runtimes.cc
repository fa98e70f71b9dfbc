// OpenMP and BLAS libraries of the processes, and the variables that set their thread counts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <set>
#include <span>
#include <string_view>

#include "common/platform/text_file.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace {

struct ThreadRuntime {
  const char* name;
  const char* prefix;  // of the file name
};

constexpr std::array<ThreadRuntime, 5> kOpenMp = {{{"libgomp", "libgomp"},
                                                   {"libiomp5", "libiomp5"},
                                                   {"libomp", "libomp.so"},
                                                   {"libomp", "libomp-"},
                                                   {"libomp", "libomp5"}}};
constexpr std::array<ThreadRuntime, 5> kBlas = {{{"OpenBLAS", "libopenblas"},
                                                 {"OpenBLAS", "libscipy_openblas"},
                                                 {"MKL", "libmkl_core"},
                                                 {"BLIS", "libblis"},
                                                 {"ATLAS", "libsatlas"}}};

struct Loaded {
  std::set<std::string_view> kinds;
  std::vector<std::string> files;
};

Loaded LoadedOf(const ProcessView& process, std::span<const ThreadRuntime> runtimes) {
  Loaded loaded;
  if (!process.maps) return loaded;
  for (const std::string& library : process.maps->libraries) {
    const std::string_view name = std::string_view(library).substr(library.find_last_of('/') + 1);
    for (const ThreadRuntime& runtime : runtimes) {
      if (!name.starts_with(runtime.prefix)) continue;
      loaded.kinds.insert(runtime.name);
      loaded.files.push_back(library);
      break;
    }
  }
  return loaded;
}

// A finding that is fine with one library.
Finding OneExpected(Id id, const ProcessView& process, const Loaded& loaded, const char* what) {
  return {.id = id,
          .observed = fmt::format("{} has {} {}: {}", DisplayName(process), loaded.files.size(),
                                  what, fmt::join(loaded.files, ", ")),
          .limit = loaded.files.size() > 1 ? "one per process" : ""};
}

Finding OpenMp(const ProcessView& process, const Loaded& loaded) {
  const bool several = loaded.files.size() > 1;
  Finding finding = OneExpected(Id::kOpenmpRuntimes, process, loaded,
                                several ? "OpenMP runtimes" : "OpenMP runtime");
  if (!several) return finding;
  return finding.Raise(
      Severity::kWarning,
      "each has its own threads, so there are several per CPU; some combinations abort the "
      "program, hang after a fork, or compute wrong results",
      "install all packages from one source (all wheels, or all conda-forge); until then "
      "OMP_NUM_THREADS=1 in workers");
}

Finding Blas(const ProcessView& process, const Loaded& loaded) {
  const bool several = loaded.files.size() > 1;
  Finding finding =
      OneExpected(Id::kBlasRuntimes, process, loaded, several ? "BLAS libraries" : "BLAS library");
  if (!several) return finding;
  return finding.Raise(
      loaded.kinds.size() > 1 ? Severity::kWarning : Severity::kNote,
      "each has its own thread pool, and a limit set for one does not apply to the other",
      "set both OPENBLAS_NUM_THREADS and MKL_NUM_THREADS; or install all packages from one source");
}

constexpr std::array<const char*, 5> kVariables = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                                   "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
                                                   "RAYON_NUM_THREADS"};

// Parses "4" or "4,2" (per nesting level) as 4.
std::optional<std::uint64_t> ThreadsOf(const ProcessView& process, const char* variable) {
  const auto value = process.environment.find(variable);
  if (value == process.environment.end()) return std::nullopt;
  return platform::ToNumber(value->second);
}

void Variables(const ProcessView& process, double share, Findings& findings) {
  const auto whole = static_cast<std::uint64_t>(std::max(1.0, std::ceil(share)));
  const auto add = [&](const std::string& observed) -> Finding& {
    return findings.emplace_back(Fine(Id::kThreadVariables,
                                      fmt::format("{} {}", DisplayName(process), observed),
                                      fmt::format("{:.3g} CPUs", share)));
  };
  bool any = false;
  for (const char* variable : kVariables) {
    const auto threads = ThreadsOf(process, variable);
    if (!threads) continue;
    any = true;
    Finding& finding = add(fmt::format("has {}={}", variable, *threads));
    if (*threads <= whole) continue;
    finding.Raise(
        Severity::kWarning, "the threads compete for CPUs and wait for each other",
        fmt::format("set {}={} before the program starts; setting it after the import is too late",
                    variable, whole));
  }
  if (!any) add("sets no thread-count variable");
}

// Checks for workers that each use all CPUs.
void CheckConcurrentProcesses(const std::vector<ProcessView>& processes, double share,
                              Findings& findings) {
  double threads = 0;
  unsigned workers = 0;
  for (const ProcessView& process : processes) {
    if (LoadedOf(process, kOpenMp).files.empty() && LoadedOf(process, kBlas).files.empty())
      continue;
    ++workers;
    threads += static_cast<double>(
        ThreadsOf(process, "OMP_NUM_THREADS")
            .value_or(static_cast<std::uint64_t>(std::max(1.0, std::floor(share)))));
  }
  if (workers < 2 || threads <= 2 * share) return;
  findings.push_back(
      {.id = Id::kThreadVariables,
       .severity = Severity::kWarning,
       .confidence = Confidence::kLikely,
       .observed = fmt::format("{} processes with OpenMP or BLAS may start {:.0f} threads together",
                               workers, threads),
       .limit = fmt::format("{:.3g} CPUs", share),
       .why = "all their threads compete for CPUs and wait for each other",
       .fix = fmt::format("OMP_NUM_THREADS={} for each",
                          std::max(1, static_cast<int>(share / workers)))});
}

}  // namespace

Findings CheckRuntimes(const Subject& subject) {
  Findings findings;
  for (const ProcessView& process : Processes(subject)) {
    const Loaded openmp = LoadedOf(process, kOpenMp);
    if (!openmp.files.empty()) findings.push_back(OpenMp(process, openmp));
    const Loaded blas = LoadedOf(process, kBlas);
    if (!blas.files.empty()) findings.push_back(Blas(process, blas));
  }
  return findings;
}

Findings CheckThreadVariables(const Subject& subject) {
  Findings findings;
  const auto share = CpuShare(subject);
  if (!share) return findings;
  const auto processes = Processes(subject);
  for (const ProcessView& process : processes) Variables(process, *share, findings);
  CheckConcurrentProcesses(processes, *share, findings);
  return findings;
}

}  // namespace reveza::doctor

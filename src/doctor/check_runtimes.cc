// OpenMP and BLAS libraries in the processes, and the variables that size their threads.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <set>
#include <span>
#include <string_view>

#include "doctor/checks.h"
#include "platform/text_file.h"

namespace reveza::doctor {
namespace {

struct Runtime {
  const char* name;
  const char* prefix;  // of the file's name
};

constexpr std::array<Runtime, 5> kOpenMp = {{{"libgomp", "libgomp"},
                                             {"libiomp5", "libiomp5"},
                                             {"libomp", "libomp.so"},
                                             {"libomp", "libomp-"},
                                             {"libomp", "libomp5"}}};
constexpr std::array<Runtime, 5> kBlas = {{{"OpenBLAS", "libopenblas"},
                                           {"OpenBLAS", "libscipy_openblas"},
                                           {"MKL", "libmkl_core"},
                                           {"BLIS", "libblis"},
                                           {"ATLAS", "libsatlas"}}};

struct Loaded {
  std::set<std::string_view> kinds;
  std::vector<std::string> files;
};

Loaded LoadedOf(const ProcessView& process, std::span<const Runtime> runtimes) {
  Loaded loaded;
  if (!process.maps) return loaded;
  for (const std::string& library : process.maps->libraries) {
    const std::string_view name = std::string_view(library).substr(library.find_last_of('/') + 1);
    for (const Runtime& runtime : runtimes) {
      if (!name.starts_with(runtime.prefix)) continue;
      loaded.kinds.insert(runtime.name);
      loaded.files.push_back(library);
      break;
    }
  }
  return loaded;
}

Finding OpenMp(const ProcessView& process, const Loaded& loaded) {
  const bool several = loaded.files.size() > 1;
  return {.id = Id::kOpenmpRuntimes,
          .severity = several ? Severity::kWarning : Severity::kFine,
          .sure = Sureness::kRead,
          .observed =
              fmt::format("{} has {} OpenMP runtime{}: {}", Called(process), loaded.files.size(),
                          several ? "s" : "", fmt::join(loaded.files, ", ")),
          .limit = several ? "one in a process" : "",
          .why = several ? "each has threads of its own, so there are several for each CPU; some "
                           "pairs stop the program, hang after a fork, or compute wrongly"
                         : "",
          .fix = several ? "install all packages from one source (all wheels, or all conda-forge); "
                           "until then OMP_NUM_THREADS=1 in workers"
                         : ""};
}

Finding Blas(const ProcessView& process, const Loaded& loaded) {
  const bool several = loaded.files.size() > 1;
  const bool different = loaded.kinds.size() > 1;
  return {
      .id = Id::kBlasRuntimes,
      .severity = different ? Severity::kWarning
                  : several ? Severity::kNote
                            : Severity::kFine,
      .sure = Sureness::kRead,
      .observed = fmt::format("{} has {} BLAS librar{}: {}", Called(process), loaded.files.size(),
                              several ? "ies" : "y", fmt::join(loaded.files, ", ")),
      .limit = several ? "one in a process" : "",
      .why = several ? "each has a pool of threads of its own, and a limit set for one does "
                       "not hold for the other"
                     : "",
      .fix = several ? "set OPENBLAS_NUM_THREADS and MKL_NUM_THREADS both; or install all "
                       "packages from one source"
                     : ""};
}

constexpr std::array<const char*, 5> kVariables = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                                   "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
                                                   "RAYON_NUM_THREADS"};

// "4" and "4,2" (by level) are 4.
std::optional<std::uint64_t> ThreadsOf(const ProcessView& process, const char* variable) {
  const auto value = process.environment.find(variable);
  if (value == process.environment.end()) return std::nullopt;
  return platform::ToNumber(value->second);
}

void Variables(const ProcessView& process, double share, Findings& findings) {
  const auto whole = static_cast<std::uint64_t>(std::max(1.0, std::ceil(share)));
  bool any = false;
  for (const char* variable : kVariables) {
    const auto threads = ThreadsOf(process, variable);
    if (!threads) continue;
    any = true;
    const bool over = *threads > whole;
    findings.push_back(
        {.id = Id::kThreadVariables,
         .severity = over ? Severity::kWarning : Severity::kFine,
         .sure = Sureness::kRead,
         .observed = fmt::format("{} has {}={}", Called(process), variable, *threads),
         .limit = fmt::format("{:.3g} CPUs", share),
         .why = over ? "the threads take turns and wait for each other" : "",
         .fix = over ? fmt::format("{}={} before the program starts; inside it, after the import, "
                                   "is too late",
                                   variable, whole)
                     : ""});
  }
  if (any) return;
  findings.push_back(
      {.id = Id::kThreadVariables,
       .severity = Severity::kFine,
       .sure = Sureness::kRead,
       .observed = fmt::format("{} has no variable that sizes its threads", Called(process)),
       .limit = fmt::format("{:.3g} CPUs", share),
       .why = "",
       .fix = ""});
}

// Workers that each take all CPUs.
void Together(const std::vector<ProcessView>& processes, double share, Findings& findings) {
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
       .sure = Sureness::kLikely,
       .observed = fmt::format("{} processes with OpenMP or BLAS may start {:.0f} threads together",
                               workers, threads),
       .limit = fmt::format("{:.3g} CPUs", share),
       .why = "the threads of all of them take turns and wait for each other",
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
  Together(processes, *share, findings);
  return findings;
}

}  // namespace reveza::doctor

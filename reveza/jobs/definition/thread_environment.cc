#include "reveza/jobs/definition/thread_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "common/base/parse_number.h"
#include "common/platform/machine.h"
#include "common/platform/text_file.h"

namespace reveza::jobs {
namespace {

// Rounds a share of cores down to a number of threads, at least 1.
unsigned ThreadsOf(double share) {
  return static_cast<unsigned>(std::clamp(std::floor(share + 1e-9), 1.0, 65536.0));
}

std::string FormatCores(double share) {
  return fmt::format("{:.3g} {}", share, share == 1 ? "core" : "cores");
}

struct ThreadVariable {
  const char* name;
  const char* library;
  bool follows_openmp;  // falls back to OMP_NUM_THREADS
};
constexpr std::array<ThreadVariable, 8> kThreadVariables = {{
    {"OMP_NUM_THREADS", "OpenMP", false},
    {"MKL_NUM_THREADS", "MKL", true},
    {"OPENBLAS_NUM_THREADS", "OpenBLAS", true},
    {"NUMEXPR_NUM_THREADS", "NumExpr", true},
    {"RAYON_NUM_THREADS", "Rayon", false},
    {"POLARS_MAX_THREADS", "Polars", false},
    {"GOMAXPROCS", "Go", false},
    {"JULIA_NUM_THREADS", "Julia", false},
}};

void AddThreads(ThreadEnvironment& result, const ThreadRequest& request,
                const platform::Environment& environment) {
  const unsigned threads = ThreadsOf(request.share);
  const bool openmp = environment("OMP_NUM_THREADS").has_value();
  for (const ThreadVariable& variable : kThreadVariables) {
    if (const auto value = environment(variable.name)) {
      const bool more = platform::ToNumber(*value).value_or(0) > threads && request.workers > 1;
      result.kept.push_back({variable.name, *value,
                             more ? fmt::format("set by you; exceeds its share of {}: {} workers "
                                                "will oversubscribe the cores",
                                                FormatCores(request.share), request.workers)
                                  : "set by you"});
    } else if (!openmp || !variable.follows_openmp) {
      result.settings.push_back({variable.name, std::to_string(threads),
                                 fmt::format("threads of {} for a share of {}", variable.library,
                                             FormatCores(request.share))});
    }
  }
}

void AddArenas(ThreadEnvironment& result, const ThreadRequest& request,
               const platform::Environment& environment) {
  if (const auto value = environment("MALLOC_ARENA_MAX")) {
    result.kept.push_back({"MALLOC_ARENA_MAX", *value, "set by you"});
    return;
  }
  const auto tunables = environment("GLIBC_TUNABLES").value_or("");
  if (tunables.contains("glibc.malloc.arena_max")) {
    result.kept.push_back({"GLIBC_TUNABLES", tunables, "set by you"});
    return;
  }
  const unsigned arenas = std::max(2U, ThreadsOf(request.share));
  result.settings.push_back(
      {"MALLOC_ARENA_MAX", std::to_string(arenas),
       "by default glibc creates up to 8 arenas per core of the machine, in each worker"});
}

// Makes PyTorch's memory segments expandable, which reduces fragmentation and returns unused memory
// to other workers on the GPU. Supported from 2.1; older versions fail to start with the option.
// From 2.9 the old variable name is deprecated; before that the new one is ignored.
void AddAllocator(ThreadEnvironment& result, const ThreadRequest& request,
                  const platform::Environment& environment) {
  if (!request.gpu || request.workers < 2) return;
  constexpr std::array<const char*, 2> kNames = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
  bool is_set = false;
  for (const char* name : kNames) {
    const auto value = environment(name);
    if (!value) continue;
    is_set = true;
    const bool mismatched = request.torch && (std::string_view(name) == kNames[1]) !=
                                                 (*request.torch >= TorchVersion{2, 9});
    const bool old_name = std::string_view(name) == kNames[0];
    result.kept.push_back(
        {name, *value,
         !mismatched ? "set by you"
         : old_name  ? fmt::format("set by you; deprecated in PyTorch {}.{}, use {}",
                                   request.torch->major, request.torch->minor, kNames[1])
                     : fmt::format("set by you; ignored by PyTorch {}.{}, which reads {}",
                                   request.torch->major, request.torch->minor, kNames[0])});
  }
  if (is_set || !request.torch || *request.torch < TorchVersion{2, 1}) return;
  const bool new_name = *request.torch >= TorchVersion{2, 9};
  result.settings.push_back(
      {kNames[new_name ? 1 : 0], "expandable_segments:True",
       fmt::format("{} workers share a GPU: PyTorch {}.{} fragments its memory less and returns "
                   "unused memory",
                   request.workers, request.torch->major, request.torch->minor)});
}

void ChooseCores(ThreadEnvironment& result, const ThreadRequest& request,
                 const platform::Environment& environment) {
  if (request.topology.size() < 2) {
    result.cores_reason = request.topology.empty() ? "any core: unknown NUMA topology"
                                                   : "any core: a single NUMA node";
    return;
  }
  for (const char* name : {"GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_PLACES", "OMP_PROC_BIND"}) {
    if (!environment(name)) continue;
    result.cores_reason = fmt::format("any core: {} is set by you", name);
    return;
  }
  if (request.workers < 2) {
    result.cores_reason = "any core: one worker may use all NUMA nodes";
    return;
  }
  std::size_t all = 0;
  for (const NumaNode& node : request.topology) all += node.cores.size();
  // Workers are spread evenly along the cores; each gets the node of its first core.
  const std::size_t worker = (request.slot + request.workers - 1) % request.workers;
  std::size_t at = worker * all / request.workers;
  for (const NumaNode& node : request.topology) {
    if (at >= node.cores.size()) {
      at -= node.cores.size();
      continue;
    }
    if (request.share > static_cast<double>(node.cores.size())) {
      result.cores_reason = fmt::format("any core: a share of {} exceeds NUMA node {}",
                                        FormatCores(request.share), node.number);
      return;
    }
    result.cores = node.cores;
    result.cores_reason = fmt::format("the {} cores of NUMA node {}, for local memory",
                                      node.cores.size(), node.number);
    return;
  }
}

}  // namespace

Topology ReadTopology(const std::filesystem::path& root) {
  const auto system = root / "sys/devices/system";
  const auto allowed = platform::AllowedCpus(0, root);
  Topology topology;
  const auto add = [&](unsigned number, std::string_view list) {
    auto cores = platform::ParseCpuList(list);
    if (!cores) return;
    if (allowed) {
      std::erase_if(*cores,
                    [&](unsigned core) { return !std::ranges::binary_search(*allowed, core); });
    }
    if (!cores->empty()) topology.push_back({.number = number, .cores = *std::move(cores)});
  };
  const auto nodes = platform::ListFolder(system / "node");
  for (const auto& path : nodes.value_or(std::vector<std::filesystem::path>{})) {
    const std::string name = path.filename();
    if (!name.starts_with("node")) continue;
    const auto number = ParseNumber<unsigned>(std::string_view(name).substr(4));
    if (number) add(*number, platform::ReadText(path / "cpulist").value_or(""));
  }
  if (topology.empty()) add(0, platform::ReadText(system / "cpu/online").value_or(""));
  std::ranges::sort(topology, {}, &NumaNode::number);
  return topology;
}

std::optional<TorchVersion> FindTorch(const std::filesystem::path& interpreter) {
  if (!interpreter.filename().string().starts_with("python")) return std::nullopt;
  const auto list = [](const std::filesystem::path& folder) {
    return platform::ListFolder(folder).value_or(std::vector<std::filesystem::path>{});
  };
  for (const auto& python : list(interpreter.parent_path().parent_path() / "lib")) {
    if (!python.filename().string().starts_with("python")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const auto& package : list(python / packages)) {
        const std::string name = package.filename();
        if (!name.starts_with("torch-") || !name.ends_with(".dist-info")) continue;
        TorchVersion version;
        const char* end = name.data() + name.size();
        const auto major = std::from_chars(name.data() + 6, end, version.major);
        if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') continue;
        const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
        if (minor.ec == std::errc()) return version;
      }
    }
  }
  return std::nullopt;
}

ThreadEnvironment MakeThreadEnvironment(const ThreadRequest& request,
                                        const platform::Environment& environment) {
  ThreadEnvironment result;
  AddThreads(result, request, environment);
  AddArenas(result, request, environment);
  AddAllocator(result, request, environment);
  ChooseCores(result, request, environment);
  return result;
}

}  // namespace reveza::jobs

#include "runner/definition/thread_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "platform/list_folder.h"
#include "runner/text_file.h"

namespace reveza::runner {
namespace {

// The least that is a share of a core or more, as a number of threads.
unsigned ThreadsOf(double share) {
  return static_cast<unsigned>(std::clamp(std::floor(share + 1e-9), 1.0, 65536.0));
}

std::string Cores(double share) {
  return fmt::format("{:.3g} {}", share, share == 1 ? "core" : "cores");
}

bool IsSet(const platform::Environment& environment, const char* name) {
  return environment(name).has_value();
}

struct ThreadVariable {
  const char* name;
  const char* who;
  bool follows_openmp;  // takes OMP_NUM_THREADS where its own is not set
};
constexpr std::array<ThreadVariable, 5> kThreadVariables = {{
    {"OMP_NUM_THREADS", "OpenMP", false},
    {"MKL_NUM_THREADS", "MKL", true},
    {"OPENBLAS_NUM_THREADS", "OpenBLAS", true},
    {"NUMEXPR_NUM_THREADS", "NumExpr", true},
    {"RAYON_NUM_THREADS", "Rayon", false},
}};

void AddThreads(ThreadEnvironment& result, const ThreadRequest& request,
                const platform::Environment& environment) {
  const unsigned threads = ThreadsOf(request.share);
  const bool openmp = IsSet(environment, "OMP_NUM_THREADS");
  for (const ThreadVariable& variable : kThreadVariables) {
    if (const auto value = environment(variable.name)) {
      unsigned number = 0;
      const auto parsed = std::from_chars(value->data(), value->data() + value->size(), number);
      const bool more = parsed.ec == std::errc() && number > threads && request.workers > 1;
      result.kept.push_back({variable.name, *value,
                             more ? fmt::format("set by you; more than its share of {}: {} workers "
                                                "will have more threads than there are cores",
                                                Cores(request.share), request.workers)
                                  : "set by you"});
    } else if (!openmp || !variable.follows_openmp) {
      result.settings.push_back(
          {variable.name, std::to_string(threads),
           fmt::format("threads of {} for a share of {}", variable.who, Cores(request.share))});
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
       "glibc would make up to 8 pools of memory for each core of the machine, in each worker"});
}

// PyTorch's pool grows in one piece that can shrink again, so that workers on one GPU leave each
// other what they do not use. Version 2.1 is the first that surely knows the word; an older one
// would not start. From 2.9 on the old name is warned of, before that the new one is not read.
void AddAllocator(ThreadEnvironment& result, const ThreadRequest& request,
                  const platform::Environment& environment) {
  if (!request.gpu || request.workers < 2) return;
  constexpr std::array<const char*, 2> kNames = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
  bool set = false;
  for (const char* name : kNames) {
    const auto value = environment(name);
    if (!value) continue;
    set = true;
    const bool unread = request.torch && (std::string_view(name) == kNames[1]) !=
                                             (*request.torch >= TorchVersion{2, 9});
    const bool old_name = std::string_view(name) == kNames[0];
    result.kept.push_back(
        {name, *value,
         !unread    ? "set by you"
         : old_name ? fmt::format("set by you; PyTorch {}.{} warns of it: {} is its name now",
                                  request.torch->major, request.torch->minor, kNames[1])
                    : fmt::format("set by you; PyTorch {}.{} does not read it: it reads {}",
                                  request.torch->major, request.torch->minor, kNames[0])});
  }
  if (set || !request.torch || *request.torch < TorchVersion{2, 1}) return;
  const bool new_name = *request.torch >= TorchVersion{2, 9};
  result.settings.push_back(
      {kNames[new_name ? 1 : 0], "expandable_segments:True",
       fmt::format("{} workers share a GPU: PyTorch {}.{} splits its memory less, and gives back "
                   "what it does not use",
                   request.workers, request.torch->major, request.torch->minor)});
}

void ChooseCores(ThreadEnvironment& result, const ThreadRequest& request,
                 const platform::Environment& environment) {
  if (request.topology.size() < 2) {
    result.cores_reason = request.topology.empty()
                              ? "any core: the NUMA nodes are not known"
                              : "any core: there is one NUMA node, and the kernel places it best";
    return;
  }
  for (const char* name : {"GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_PLACES", "OMP_PROC_BIND"}) {
    if (!IsSet(environment, name)) continue;
    result.cores_reason = fmt::format("any core: {} is set by you", name);
    return;
  }
  if (request.workers < 2) {
    result.cores_reason = "any core: one worker may use all NUMA nodes";
    return;
  }
  std::size_t all = 0;
  for (const NumaNode& node : request.topology) all += node.cores.size();
  // Workers are laid along the cores, evenly; each has the node that it begins on.
  const std::size_t worker = (request.slot + request.workers - 1) % request.workers;
  std::size_t at = worker * all / request.workers;
  for (const NumaNode& node : request.topology) {
    if (at >= node.cores.size()) {
      at -= node.cores.size();
      continue;
    }
    if (request.share > static_cast<double>(node.cores.size())) {
      result.cores_reason = fmt::format("any core: a share of {} is more than NUMA node {} has",
                                        Cores(request.share), node.number);
      return;
    }
    result.cores = node.cores;
    result.cores_reason = fmt::format("the {} cores of NUMA node {}, so that its memory is near",
                                      node.cores.size(), node.number);
    return;
  }
}

std::string FirstLine(const std::filesystem::path& path) {
  const auto text = ReadTextFile(path);
  return text ? text->substr(0, text->find('\n')) : "";
}

// The cores that this process may use; nothing when that cannot be read.
std::optional<std::vector<unsigned>> AllowedCores(const std::filesystem::path& root) {
  const auto status = ReadTextFile(root / "proc/self/status");
  constexpr std::string_view kKey = "\nCpus_allowed_list:";
  const std::size_t at = status ? status->find(kKey) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = status->find_first_not_of(" \t", at + kKey.size());
  if (begin == std::string::npos) return std::nullopt;
  return ParseCoreList(status->substr(begin, status->find('\n', begin) - begin));
}

}  // namespace

std::optional<std::vector<unsigned>> ParseCoreList(std::string_view text) {
  constexpr unsigned kMost = 65536;
  std::vector<unsigned> cores;
  const auto number = [&text]() -> std::optional<unsigned> {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value >= kMost) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
  };
  while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
  while (!text.empty()) {
    const auto first = number();
    auto last = first;
    if (first && text.starts_with('-')) {
      text.remove_prefix(1);
      last = number();
    }
    if (!first || !last || *last < *first) return std::nullopt;
    for (unsigned core = *first; core <= *last; ++core) cores.push_back(core);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  std::ranges::sort(cores);
  const auto repeated = std::ranges::unique(cores);
  cores.erase(repeated.begin(), repeated.end());
  return cores;
}

Topology ReadTopology(const std::filesystem::path& root) {
  const auto system = root / "sys/devices/system";
  const auto allowed = AllowedCores(root);
  Topology topology;
  const auto add = [&](unsigned number, std::string_view list) {
    auto cores = ParseCoreList(list);
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
    unsigned number = 0;
    const char* end = name.data() + name.size();
    if (!name.starts_with("node")) continue;
    const auto parsed = std::from_chars(name.data() + 4, end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end) continue;
    add(number, FirstLine(path / "cpulist"));
  }
  if (topology.empty()) add(0, FirstLine(system / "cpu/online"));
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

}  // namespace reveza::runner

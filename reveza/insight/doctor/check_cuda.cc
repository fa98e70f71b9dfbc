// Environment variables of CUDA and PyTorch; CUDA runtimes compared with the version that the
// driver supports.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "common/platform/text_file.h"
#include "reveza/gpu/nvml/gpu_settings.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace {

constexpr const char* kOldName = "PYTORCH_CUDA_ALLOC_CONF";
constexpr const char* kNewName = "PYTORCH_ALLOC_CONF";  // read since 2.9
constexpr std::uint64_t kMinSplit = 20;                 // MB; PyTorch rejects less

std::optional<std::string> Variable(const ProcessView& process, const char* name) {
  const auto found = process.environment.find(name);
  if (found == process.environment.end()) return std::nullopt;
  return found->second;
}

struct TorchVersion {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
};

// Reads torch/version.py beside its library: __version__ = '2.4.1+cu121'.
std::optional<TorchVersion> TorchOf(const ProcessView& process, const Subject& subject) {
  if (!process.maps) return std::nullopt;
  const auto library = platform::FindLibrary(*process.maps, "libtorch_cpu.so");
  if (!library) return std::nullopt;
  const std::filesystem::path file(*library);
  const auto text = platform::ReadText(
      subject.root / (file.parent_path().parent_path() / "version.py").relative_path());
  if (!text) return std::nullopt;
  const auto begin = text->find("__version__ = '");
  if (begin == std::string::npos) return std::nullopt;
  const std::string_view number = std::string_view(*text).substr(begin + 15);
  const auto dot = number.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto major = platform::ToNumber(number);
  const auto minor = platform::ToNumber(number.substr(dot + 1));
  if (!major || !minor) return std::nullopt;
  return TorchVersion{*major, *minor};
}

Finding Settings(const ProcessView& process, std::string observed, Severity severity,
                 std::string why, std::string fix) {
  return {.id = Id::kAllocatorSettings,
          .severity = severity,
          .observed = fmt::format("{} has {}", DisplayName(process), observed),
          .why = std::move(why),
          .fix = std::move(fix)};
}

std::optional<std::uint64_t> SplitOf(std::string_view settings) {
  constexpr std::string_view kKey = "max_split_size_mb:";
  const auto begin = settings.find(kKey);
  if (begin == std::string_view::npos) return std::nullopt;
  return platform::ToNumber(settings.substr(begin + kKey.size()));
}

void Value(const ProcessView& process, const char* name, const std::string& value,
           Findings& findings) {
  const auto split = SplitOf(value);
  if (split && *split < kMinSplit) {
    findings.push_back(Settings(process, fmt::format("{}={}", name, value), Severity::kFatal,
                                "PyTorch rejects max_split_size_mb below 20",
                                "max_split_size_mb:128, or expandable_segments:True"));
  } else if (split && value.find("backend:cudaMallocAsync") != std::string::npos) {
    findings.push_back(Settings(process, fmt::format("{}={}", name, value), Severity::kWarning,
                                "with backend:cudaMallocAsync max_split_size_mb is ignored",
                                "remove one of the two"));
  }
}

void Allocator(const ProcessView& process, const Subject& subject, Findings& findings) {
  const auto old_value = Variable(process, kOldName);
  const auto new_value = Variable(process, kNewName);
  if (!old_value && !new_value) return;
  if (old_value) Value(process, kOldName, *old_value, findings);
  if (new_value) Value(process, kNewName, *new_value, findings);
  const auto torch = TorchOf(process, subject);
  const bool reads_new = torch && (torch->major > 2 || (torch->major == 2 && torch->minor >= 9));
  if (old_value && new_value && *old_value != *new_value) {
    findings.push_back(Settings(
        process, fmt::format("{}={} and {}={}", kOldName, *old_value, kNewName, *new_value),
        Severity::kWarning, "PyTorch before 2.9 reads the first only, later ones prefer the second",
        "set both to the same value"));
  } else if (new_value && !old_value && torch && !reads_new) {
    findings.push_back(Settings(
        process,
        fmt::format("{}={}, and PyTorch {}.{}", kNewName, *new_value, torch->major, torch->minor),
        Severity::kWarning, "PyTorch reads that name since 2.9 only: the setting has no effect",
        fmt::format("{}={}", kOldName, *new_value)));
  } else if (findings.empty()) {
    findings.push_back(Settings(
        process,
        fmt::format("{}={}", old_value ? kOldName : kNewName, old_value ? *old_value : *new_value),
        Severity::kFine, "", ""));
  }
}

struct Runtime {
  std::uint64_t major = 0;
  std::optional<std::uint64_t> minor;  // if the file name has it
  std::string file;
};

// "libcudart.so.12.4.127", "libcudart-1a2b.so.11.0", "libnvrtc.so.12": the version after ".so.".
std::optional<Runtime> VersionOf(const std::string& file, bool has_minor) {
  constexpr std::string_view kMark = ".so.";
  const auto mark = file.rfind(kMark);
  if (mark == std::string::npos) return std::nullopt;
  const std::string_view version = std::string_view(file).substr(mark + kMark.size());
  const auto major = platform::ToNumber(version);
  if (!major) return std::nullopt;
  Runtime runtime{*major, std::nullopt, file};
  const auto dot = version.find('.');
  if (has_minor && dot != std::string_view::npos) {
    runtime.minor = platform::ToNumber(version.substr(dot + 1));
  }
  return runtime;
}

// With a statically linked runtime, the other CUDA libraries tell the version.
std::optional<Runtime> RuntimeOf(const ProcessView& process) {
  struct Library {
    const char* prefix;
    bool has_minor;  // its version is that of CUDA
  };
  constexpr std::array<Library, 3> kLibraries = {
      {{"libcudart", true}, {"libnvrtc.so", true}, {"libcublas.so", false}}};
  if (!process.maps) return std::nullopt;
  for (const Library& library : kLibraries) {
    const auto file = platform::FindLibrary(*process.maps, library.prefix);
    if (!file) continue;
    if (auto runtime = VersionOf(*file, library.has_minor)) return runtime;
  }
  return std::nullopt;
}

std::string Text(const Runtime& runtime) {
  return runtime.minor ? fmt::format("{}.{}", runtime.major, *runtime.minor)
                       : fmt::format("{}", runtime.major);
}

// `driver` is the newest CUDA version that it supports, e.g. 12020 for 12.2.
Finding Compare(const std::string& name, const Runtime& runtime, std::optional<unsigned> driver) {
  const std::string observed =
      fmt::format("{} uses CUDA {} ({})", name, Text(runtime), runtime.file);
  if (!driver)
    return Fine(Id::kGpuRuntime, observed, "the version that the driver supports is unknown");
  const std::uint64_t major = *driver / 1000;
  const std::uint64_t minor = *driver % 1000 / 10;
  const std::string limit = fmt::format("the driver supports CUDA up to {}.{}", major, minor);
  if (runtime.major > major) {
    return MakeFinding(
        Id::kGpuRuntime, Severity::kFatal, observed, limit,
        "it fails with 'CUDA driver version is insufficient for CUDA runtime version'",
        "install a newer driver, or a build of the program for an older CUDA");
  }
  if (runtime.major == major && runtime.minor.value_or(0) > minor) {
    return MakeFinding(
        Id::kGpuRuntime, Severity::kNote, observed, limit,
        "precompiled kernels run; those compiled at run time (PTX, Triton, CuPy) may fail with "
        "'the provided PTX was compiled with an unsupported toolchain'",
        "install a newer driver, or a build of the program for an older CUDA");
  }
  return Fine(Id::kGpuRuntime, observed, limit);
}

// Checks the installed toolkit.
Finding Installed(const std::filesystem::path& root, std::optional<unsigned> driver) {
  constexpr const char* kPlace = "usr/local/cuda/version.json";
  const auto text = platform::ReadText(root / kPlace);
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
  const auto cuda = json.is_object() ? json.find("cuda") : json.end();
  if (!json.is_object() || cuda == json.end() || !cuda->is_object() || !cuda->contains("version") ||
      !(*cuda)["version"].is_string()) {
    return Fine(Id::kGpuRuntime,
                "no CUDA toolkit in /usr/local/cuda; programs bring their own runtime", "");
  }
  auto runtime = VersionOf(".so." + (*cuda)["version"].get<std::string>(), true);
  if (!runtime)
    return Fine(Id::kGpuRuntime, "the CUDA toolkit in /usr/local/cuda has no version", "");
  runtime->file = std::string("/") + kPlace;
  Finding finding = Compare("a program built here", *runtime, driver);
  // Programs built elsewhere are not affected.
  if (finding.severity == Severity::kFatal) finding.severity = Severity::kWarning;
  return finding;
}

}  // namespace

Findings CheckCudaEnvironment(const Subject& subject) {
  Findings all;
  for (const ProcessView& process : Processes(subject)) {
    const auto blocking = Variable(process, "CUDA_LAUNCH_BLOCKING");
    if (blocking && !blocking->empty() && *blocking != "0") {
      all.push_back({.id = Id::kLaunchBlocking,
                     .severity = Severity::kWarning,
                     .observed = fmt::format("{} has CUDA_LAUNCH_BLOCKING={}", DisplayName(process),
                                             *blocking),
                     .why = "each launch waits until its kernel has finished: nothing overlaps on "
                            "any stream or in any thread",
                     .fix = "unset CUDA_LAUNCH_BLOCKING; it is meant for debugging"});
    }
    const auto visible = Variable(process, "CUDA_VISIBLE_DEVICES");
    if (visible && (visible->empty() || visible->starts_with("-1"))) {
      all.push_back({.id = Id::kGpuVisible,
                     .severity = Severity::kWarning,
                     .observed = fmt::format("{} has CUDA_VISIBLE_DEVICES='{}'",
                                             DisplayName(process), *visible),
                     .why = "CUDA finds no device; many programs then silently run on the CPU",
                     .fix = "unset CUDA_VISIBLE_DEVICES, or name a GPU: CUDA_VISIBLE_DEVICES=0"});
    }
    Findings settings;
    Allocator(process, subject, settings);
    all.insert(all.end(), settings.begin(), settings.end());
  }
  return all;
}

Findings CheckCudaRuntime(const Subject& subject) {
  std::optional<unsigned> driver;
  if (const auto inventory = nvml::ReadGpuSettings(subject.nvml.c_str())) driver = inventory->cuda;
  Findings findings;
  for (const ProcessView& process : Processes(subject)) {
    if (const auto runtime = RuntimeOf(process)) {
      findings.push_back(Compare(DisplayName(process), *runtime, driver));
    } else if (UsesCuda(process)) {
      findings.push_back(Fine(
          Id::kGpuRuntime,
          fmt::format("{} uses the CUDA driver; its runtime is linked statically, or it has none",
                      DisplayName(process)),
          ""));
    }
  }
  if (findings.empty()) findings.push_back(Installed(subject.root, driver));
  return findings;
}

}  // namespace reveza::doctor

// Variables that change what CUDA and PyTorch do.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "doctor/checks.h"
#include "platform/text_file.h"

namespace reveza::doctor {
namespace {

constexpr const char* kOldName = "PYTORCH_CUDA_ALLOC_CONF";
constexpr const char* kNewName = "PYTORCH_ALLOC_CONF";  // read since 2.9
constexpr std::uint64_t kLeastSplit = 20;               // MB; less is refused

std::optional<std::string> Variable(const ProcessView& process, const char* name) {
  const auto found = process.environment.find(name);
  if (found == process.environment.end()) return std::nullopt;
  return found->second;
}

struct TorchVersion {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
};

// From torch/version.py beside its library: __version__ = '2.4.1+cu121'.
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
          .sure = Sureness::kRead,
          .observed = fmt::format("{} has {}", Called(process), observed),
          .limit = "",
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
  if (split && *split < kLeastSplit) {
    findings.push_back(Settings(process, fmt::format("{}={}", name, value), Severity::kFatal,
                                "PyTorch refuses max_split_size_mb of less than 20",
                                "max_split_size_mb:128, or expandable_segments:True"));
  } else if (split && value.find("backend:cudaMallocAsync") != std::string::npos) {
    findings.push_back(Settings(process, fmt::format("{}={}", name, value), Severity::kWarning,
                                "with backend:cudaMallocAsync max_split_size_mb is ignored",
                                "take one of the two away"));
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
        Severity::kWarning,
        "PyTorch before 2.9 reads the first only, "
        "later ones prefer the second",
        "give both the same value"));
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

}  // namespace

Findings CheckCudaEnvironment(const Subject& subject) {
  Findings all;
  for (const ProcessView& process : Processes(subject)) {
    const auto blocking = Variable(process, "CUDA_LAUNCH_BLOCKING");
    if (blocking && !blocking->empty() && *blocking != "0") {
      all.push_back(
          {.id = Id::kLaunchBlocking,
           .severity = Severity::kWarning,
           .sure = Sureness::kRead,
           .observed = fmt::format("{} has CUDA_LAUNCH_BLOCKING={}", Called(process), *blocking),
           .limit = "",
           .why = "each launch waits until its kernel has ended: nothing overlaps, on any "
                  "stream, in any thread",
           .fix = "unset CUDA_LAUNCH_BLOCKING; it is for finding faults"});
    }
    const auto visible = Variable(process, "CUDA_VISIBLE_DEVICES");
    if (visible && (visible->empty() || visible->starts_with("-1"))) {
      all.push_back(
          {.id = Id::kGpuVisible,
           .severity = Severity::kWarning,
           .sure = Sureness::kRead,
           .observed = fmt::format("{} has CUDA_VISIBLE_DEVICES='{}'", Called(process), *visible),
           .limit = "",
           .why = "CUDA finds no device; many programs then run on the CPU without a word",
           .fix = "unset CUDA_VISIBLE_DEVICES, or name a GPU: CUDA_VISIBLE_DEVICES=0"});
    }
    Findings settings;
    Allocator(process, subject, settings);
    all.insert(all.end(), settings.begin(), settings.end());
  }
  return all;
}

}  // namespace reveza::doctor

// Which CUDA programs were built with, and whether the driver knows it.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "doctor/checks.h"
#include "platform/gpu_settings.h"
#include "platform/text_file.h"

namespace reveza::doctor {
namespace {

struct Runtime {
  std::uint64_t major = 0;
  std::optional<std::uint64_t> minor;  // where the file's name has it
  std::string file;
};

// "libcudart.so.12.4.127", "libcudart-1a2b.so.11.0", "libnvrtc.so.12": what stands behind ".so.".
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

// A program may have the runtime linked into itself: then its other libraries of CUDA tell.
std::optional<Runtime> RuntimeOf(const ProcessView& process) {
  struct Library {
    const char* prefix;
    bool has_minor;  // whose version is that of CUDA
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

Finding Make(Severity severity, std::string observed, std::string limit, std::string why = "",
             std::string fix = "") {
  return {.id = Id::kGpuRuntime,
          .severity = severity,
          .sure = Sureness::kRead,
          .observed = std::move(observed),
          .limit = std::move(limit),
          .why = std::move(why),
          .fix = std::move(fix)};
}

// `driver`: the newest CUDA that it knows, 12020 for 12.2.
Finding Compare(const std::string& called, const Runtime& runtime, std::optional<unsigned> driver) {
  const std::string observed =
      fmt::format("{} uses CUDA {} ({})", called, Text(runtime), runtime.file);
  if (!driver) return Make(Severity::kFine, observed, "what the driver knows cannot be read");
  const std::uint64_t major = *driver / 1000;
  const std::uint64_t minor = *driver % 1000 / 10;
  const std::string limit = fmt::format("the driver knows CUDA up to {}.{}", major, minor);
  if (runtime.major > major) {
    return Make(Severity::kFatal, observed, limit,
                "it fails with 'CUDA driver version is insufficient for CUDA runtime version'",
                "a newer driver, or the program built for an older CUDA");
  }
  if (runtime.major == major && runtime.minor.value_or(0) > minor) {
    return Make(Severity::kNote, observed, limit,
                "its own kernels run; those that it compiles while it runs (PTX, Triton, CuPy) may "
                "fail with 'the provided PTX was compiled with an unsupported toolchain'",
                "a newer driver, or the program built for an older CUDA");
  }
  return Make(Severity::kFine, observed, limit);
}

// The toolkit that is installed here.
Finding Installed(const std::filesystem::path& root, std::optional<unsigned> driver) {
  constexpr const char* kPlace = "usr/local/cuda/version.json";
  const auto text = platform::ReadText(root / kPlace);
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
  const auto cuda = json.is_object() ? json.find("cuda") : json.end();
  if (!json.is_object() || cuda == json.end() || !cuda->is_object() || !cuda->contains("version") ||
      !(*cuda)["version"].is_string()) {
    return Make(Severity::kFine,
                "no CUDA is installed in /usr/local/cuda; programs bring their own runtime", "");
  }
  auto runtime = VersionOf(".so." + (*cuda)["version"].get<std::string>(), true);
  if (!runtime) return Make(Severity::kFine, "the CUDA in /usr/local/cuda has no version", "");
  runtime->file = std::string("/") + kPlace;
  Finding finding = Compare("what is built here", *runtime, driver);
  // Programs that are built elsewhere are not concerned.
  if (finding.severity == Severity::kFatal) finding.severity = Severity::kWarning;
  return finding;
}

}  // namespace

Findings CheckCudaRuntime(const Subject& subject) {
  std::optional<unsigned> driver;
  if (const auto set_up = platform::ReadGpuSettings(subject.nvml.c_str())) driver = set_up->cuda;
  Findings findings;
  for (const ProcessView& process : Processes(subject)) {
    if (const auto runtime = RuntimeOf(process)) {
      findings.push_back(Compare(Called(process), *runtime, driver));
    } else if (UsesCuda(process)) {
      findings.push_back(Make(
          Severity::kFine,
          fmt::format("{} uses CUDA's driver; its runtime is part of the program, or it has none",
                      Called(process)),
          ""));
    }
  }
  if (findings.empty()) findings.push_back(Installed(subject.root, driver));
  return findings;
}

}  // namespace reveza::doctor

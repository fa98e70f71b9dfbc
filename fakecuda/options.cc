#include "fakecuda/options.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

namespace fakecuda {
namespace {

constexpr std::uint64_t kGranule = 2ull << 20;

const char* Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

void Complain(const char* name, const char* value) {
  std::fprintf(stderr, "fakecuda: ignoring invalid %s=%s\n", name, value);
}

double SizeOr(const char* name, double otherwise) {
  const char* value = Variable(name);
  double bytes = otherwise;
  if (value != nullptr && !ParseSize(value, &bytes)) Complain(name, value);
  return bytes;
}

}  // namespace

bool ParseSize(std::string_view text, double* bytes) {
  struct Unit {
    std::string_view suffix;
    double factor;
  };
  if (text.ends_with("/s")) text.remove_suffix(2);
  double factor = 1;
  for (const Unit unit : {Unit{"KiB", 1024.}, Unit{"MiB", 1048576.}, Unit{"GiB", 1073741824.},
                          Unit{"KB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}}) {
    if (!text.ends_with(unit.suffix)) continue;
    text.remove_suffix(unit.suffix.size());
    factor = unit.factor;
    break;
  }
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return false;
  if (!(number >= 0 && number * factor < 1e18)) return false;
  *bytes = number * factor;
  return true;
}

bool ParseVersion(std::string_view text, int* version) {
  int major = 0;
  int minor = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return false;
  const auto [rest, minor_error] = std::from_chars(dot + 1, end, minor);
  if (minor_error != std::errc() || rest != end || major < 1 || minor < 0 || minor > 9) {
    return false;
  }
  *version = major * 1000 + minor * 10;
  return true;
}

int DriverVersionFromEnvironment() {
  const char* text = Variable("FAKECUDA_DRIVER");
  int version = kNewestDriver;
  if (text != nullptr && !ParseVersion(text, &version)) Complain("FAKECUDA_DRIVER", text);
  return version;
}

bool ParseNvml(std::string_view text, Nvml* nvml) {
  for (const auto& [name, value] : {std::pair{"full", Nvml::kFull},
                                    {"no-process-memory", Nvml::kNoProcessMemory},
                                    {"none", Nvml::kNone}}) {
    if (text != name) continue;
    *nvml = value;
    return true;
  }
  return false;
}

bool ParseInstances(std::string_view text, std::vector<std::uint64_t>* instances) {
  instances->clear();
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    double bytes = 0;
    if (!ParseSize(one, &bytes) || bytes < kGranule) return false;
    instances->push_back(static_cast<std::uint64_t>(bytes) / kGranule * kGranule);
  }
  return true;
}

bool ParseFailures(std::string_view text, std::vector<Failure>* failures) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const size_t first = one.find(':');
    const size_t second = first == one.npos ? one.npos : one.find(':', first + 1);
    if (second == one.npos || first == 0) return false;
    Failure failure{.name = std::string(one.substr(0, first))};
    const std::string_view call = one.substr(first + 1, second - first - 1);
    const std::string_view result = one.substr(second + 1);
    const auto a = std::from_chars(call.data(), call.data() + call.size(), failure.call);
    const auto b = std::from_chars(result.data(), result.data() + result.size(), failure.result);
    if (a.ec != std::errc() || a.ptr != call.data() + call.size()) return false;
    if (b.ec != std::errc() || b.ptr != result.data() + result.size()) return false;
    failures->push_back(failure);
  }
  return true;
}

Options Options::FromEnvironment() {
  Options options;
  const char* directory = Variable("FAKECUDA_DIR");
  options.directory =
      directory != nullptr ? directory : "/dev/shm/fakecuda-" + std::to_string(getuid());
  options.memory = static_cast<std::uint64_t>(SizeOr("FAKECUDA_MEMORY", 256. * 1048576));
  options.memory = options.memory / kGranule * kGranule;
  options.host_memory = static_cast<std::uint64_t>(SizeOr("FAKECUDA_HOST_MEMORY", 0));
  options.link = SizeOr("FAKECUDA_LINK", 2e9);
  options.devices = static_cast<int>(SizeOr("FAKECUDA_DEVICES", 1));
  const char* instances = Variable("FAKECUDA_MIG");
  if (instances != nullptr && !ParseInstances(instances, &options.instances)) {
    Complain("FAKECUDA_MIG", instances);
    options.instances.clear();
  }
  options.context_bytes = static_cast<std::uint64_t>(SizeOr("FAKECUDA_CONTEXT", 2. * 1048576));
  options.late_release_microseconds =
      static_cast<std::uint64_t>(SizeOr("FAKECUDA_LATE_RELEASE_US", 0));
  options.lazy_bytes = static_cast<std::uint64_t>(SizeOr("FAKECUDA_LAZY_BYTES", 0));
  const char* nvml = Variable("FAKECUDA_NVML");
  if (nvml != nullptr && !ParseNvml(nvml, &options.nvml)) Complain("FAKECUDA_NVML", nvml);
  options.driver_version = DriverVersionFromEnvironment();
  const char* virtual_memory = Variable("FAKECUDA_VMM");
  options.virtual_memory = virtual_memory == nullptr || std::string_view(virtual_memory) != "0";
  const char* on_host = Variable("FAKECUDA_HOST_VMM");
  options.host_virtual_memory = on_host == nullptr || std::string_view(on_host) != "0";
  options.mps = Variable("FAKECUDA_MPS") != nullptr;
  options.verbose = Variable("FAKECUDA_VERBOSE") != nullptr;
  const char* failures = Variable("FAKECUDA_FAIL");
  if (failures != nullptr && !ParseFailures(failures, &options.failures)) {
    Complain("FAKECUDA_FAIL", failures);
  }
  options.seed = Variable("FAKECUDA_SEED") != nullptr
                     ? static_cast<std::uint64_t>(SizeOr("FAKECUDA_SEED", 1))
                     : std::random_device{}();
  if (options.verbose) {
    std::fprintf(stderr, "fakecuda: FAKECUDA_SEED=%llu\n",
                 static_cast<unsigned long long>(options.seed));
  }
  return options;
}

}  // namespace fakecuda

#include "doctor/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "platform/process.h"
#include "platform/text_file.h"

namespace reveza::doctor {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostProcesses = 64;
constexpr std::size_t kLongestName = 40;

std::map<std::string, std::string> ReadEnvironment(const fs::path& folder) {
  std::map<std::string, std::string> variables;
  std::string text = platform::ReadText(folder / "environ").value_or("");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    const std::string variable = text.substr(begin, end - begin);
    const auto sign = variable.find('=');
    if (sign != std::string::npos) {
      variables.emplace(variable.substr(0, sign), variable.substr(sign + 1));
    }
    begin = end + 1;
  }
  return variables;
}

// The parent is the second number behind the name, which may itself hold anything.
std::optional<pid_t> ParentOf(const fs::path& folder) {
  const auto text = platform::ReadText(folder / "stat");
  if (!text) return std::nullopt;
  const auto name = text->rfind(')');
  if (name == std::string::npos) return std::nullopt;
  const auto words = platform::Words(std::string_view(*text).substr(name + 1));
  if (words.size() < 2) return std::nullopt;
  const auto parent = platform::ToNumber(words[1]);
  if (!parent) return std::nullopt;
  return static_cast<pid_t>(*parent);
}

void TightenOne(platform::Limit& limit, const platform::Limit& other) {
  if (other.soft && (!limit.soft || *other.soft < *limit.soft)) limit = other;
}

template <typename Number>
void Largest(std::optional<Number>& value, const std::optional<Number>& other) {
  if (other && (!value || *value < *other)) value = other;
}

}  // namespace

std::optional<ProcessView> Look(pid_t pid, const fs::path& root) {
  const fs::path folder = platform::ProcessFolder(pid, root);
  std::error_code error;
  if (!fs::exists(folder, error)) return std::nullopt;
  ProcessView view;
  view.pid = pid;
  view.name = pid == 0 ? "" : platform::ProcessCommand(pid, root);
  // The program without its folder: what is behind it says more.
  const auto folder_end = view.name.substr(0, view.name.find(' ')).rfind('/');
  if (folder_end != std::string::npos) view.name.erase(0, folder_end + 1);
  if (view.name.size() > kLongestName) view.name = view.name.substr(0, kLongestName - 3) + "...";
  if (auto limits = platform::ReadProcessLimits(pid, root)) view.limits = *limits;
  view.use = platform::ReadProcessUse(pid, root);
  view.maps = platform::ReadProcessMaps(pid, root);
  view.environment = ReadEnvironment(folder);
  return view;
}

void Tighten(platform::ProcessLimits& limits, const platform::ProcessLimits& other) {
  TightenOne(limits.address_space, other.address_space);
  TightenOne(limits.data, other.data);
  TightenOne(limits.stack, other.stack);
  TightenOne(limits.processes, other.processes);
  TightenOne(limits.open_files, other.open_files);
  TightenOne(limits.locked_memory, other.locked_memory);
}

void Merge(ProcessView& into, ProcessView newer) {
  if (!newer.name.empty()) into.name = std::move(newer.name);
  if (newer.limits && into.limits) {
    Tighten(*into.limits, *newer.limits);
  } else if (newer.limits) {
    into.limits = newer.limits;
  }
  Largest(into.use.address_space, newer.use.address_space);
  Largest(into.use.address_peak, newer.use.address_peak);
  Largest(into.use.data, newer.use.data);
  Largest(into.use.locked, newer.use.locked);
  Largest(into.use.pinned, newer.use.pinned);
  Largest(into.use.threads, newer.use.threads);
  Largest(into.use.open_files, newer.use.open_files);
  if (newer.maps && into.maps) {
    into.maps->count = std::max(into.maps->count, newer.maps->count);
    into.maps->uvm = std::max(into.maps->uvm, newer.maps->uvm);
    into.maps->uvm_bytes = std::max(into.maps->uvm_bytes, newer.maps->uvm_bytes);
    for (std::string& library : newer.maps->libraries) {
      if (std::ranges::find(into.maps->libraries, library) == into.maps->libraries.end()) {
        into.maps->libraries.push_back(std::move(library));
      }
    }
  } else if (newer.maps) {
    into.maps = std::move(newer.maps);
  }
  if (newer.activity) into.activity = newer.activity;
  if (!newer.environment.empty()) into.environment = std::move(newer.environment);
}

std::vector<pid_t> Family(pid_t pid, const fs::path& root) {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (fs::directory_iterator entry(root / "proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto number = platform::ToNumber(name);
    const auto parent = ParentOf(entry->path());
    if (number && parent) children.emplace(*parent, static_cast<pid_t>(*number));
  }
  std::vector<pid_t> family = {pid};
  for (std::size_t next = 0; next < family.size(); ++next) {
    const auto [first, last] = children.equal_range(family[next]);
    for (auto child = first; child != last; ++child) family.push_back(child->second);
  }
  return family;
}

std::string Called(const ProcessView& process) {
  if (process.pid == 0) return "a process started here";
  return process.name.empty() ? fmt::format("pid {}", process.pid)
                              : fmt::format("{} (pid {})", process.name, process.pid);
}

std::vector<ProcessView> Processes(const Subject& subject) {
  if (subject.seen) return *subject.seen;
  std::vector<ProcessView> views;
  if (subject.pid == 0) {
    if (auto view = Look(0, subject.root)) {
      // It stands for what will be started, so what the doctor itself uses says nothing.
      view->use = {};
      view->maps.reset();
      views.push_back(std::move(*view));
    }
    return views;
  }
  for (const pid_t pid : Family(subject.pid, subject.root)) {
    if (views.size() == kMostProcesses) break;
    if (auto view = Look(pid, subject.root)) views.push_back(std::move(*view));
  }
  return views;
}

std::optional<double> CpuShare(const Subject& subject) {
  std::optional<double> share;
  const auto least = [&](const auto& value) {
    if (value && (!share || static_cast<double>(*value) < *share)) {
      share = static_cast<double>(*value);
    }
  };
  const platform::MachineCores cores = platform::ReadMachineCores(subject.pid, subject.root);
  least(cores.online);
  least(cores.allowed);
  if (const auto quota = platform::ReadCgroupQuota(subject.pid, subject.root)) {
    least(std::optional(quota->cpus));
  }
  return share;
}

bool HasNvidiaDriver(const fs::path& root) {
  std::error_code error;
  return fs::exists(root / "proc/driver/nvidia/version", error) ||
         fs::exists(root / "dev/nvidiactl", error);
}

bool UsesCuda(const ProcessView& process) {
  return process.maps && platform::FindLibrary(*process.maps, "libcuda.so").has_value();
}

}  // namespace reveza::doctor

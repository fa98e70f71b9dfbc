#include "reveza/insight/doctor/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "common/platform/process.h"
#include "common/platform/process_table.h"
#include "common/platform/text_file.h"

namespace reveza::doctor {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxProcesses = 64;
constexpr std::size_t kMaxName = 40;

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

template <typename Number>
void Largest(std::optional<Number>& value, const std::optional<Number>& other) {
  if (other && (!value || *value < *other)) value = other;
}

}  // namespace

std::optional<ProcessView> ReadProcess(pid_t pid, const fs::path& root) {
  const fs::path folder = platform::ProcessFolder(pid, root);
  std::error_code error;
  if (!fs::exists(folder, error)) return std::nullopt;
  ProcessView view;
  view.pid = pid;
  view.name = pid == 0 ? "" : platform::ProcessCommand(pid, root);
  // Without the program's folder, so that more of the arguments fits.
  const auto folder_end = view.name.substr(0, view.name.find(' ')).rfind('/');
  if (folder_end != std::string::npos) view.name.erase(0, folder_end + 1);
  if (view.name.size() > kMaxName) view.name = view.name.substr(0, kMaxName - 3) + "...";
  if (auto limits = platform::ReadProcessLimits(pid, root)) view.limits = *limits;
  view.use = platform::ReadProcessUse(pid, root);
  view.maps = platform::ReadProcessMaps(pid, root);
  view.environment = ReadEnvironment(folder);
  return view;
}

void TightenLimits(platform::ProcessLimits& limits, const platform::ProcessLimits& other) {
  using Limits = platform::ProcessLimits;
  for (const auto member : {&Limits::address_space, &Limits::data, &Limits::stack,
                            &Limits::processes, &Limits::open_files, &Limits::locked_memory}) {
    const platform::Limit& tighter = other.*member;
    platform::Limit& limit = limits.*member;
    if (tighter.soft && (!limit.soft || *tighter.soft < *limit.soft)) limit = tighter;
  }
}

void Merge(ProcessView& into, ProcessView newer) {
  if (!newer.name.empty()) into.name = std::move(newer.name);
  if (newer.limits && into.limits) {
    TightenLimits(*into.limits, *newer.limits);
  } else if (newer.limits) {
    into.limits = newer.limits;
  }
  using Use = platform::ProcessUse;
  for (const auto member : {&Use::address_space, &Use::address_peak, &Use::data, &Use::locked,
                            &Use::pinned, &Use::threads, &Use::open_files}) {
    Largest(into.use.*member, newer.use.*member);
  }
  // A limit may have met any process that it binds.
  if (newer.use.exempt_from_process_limit && into.use.exempt_from_process_limit.value_or(true)) {
    into.use.exempt_from_process_limit = newer.use.exempt_from_process_limit;
  }
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

std::string DisplayName(const ProcessView& process) {
  if (process.pid == 0) return "a process started here";
  return process.name.empty() ? fmt::format("pid {}", process.pid)
                              : fmt::format("{} (pid {})", process.name, process.pid);
}

std::vector<ProcessView> Processes(const Subject& subject) {
  if (subject.seen) return *subject.seen;
  std::vector<ProcessView> views;
  if (subject.pid == 0) {
    if (auto view = ReadProcess(0, subject.root)) {
      // It stands for what will be started, so what the doctor itself uses says nothing.
      const auto exempt = view->use.exempt_from_process_limit;
      view->use = {};
      view->use.exempt_from_process_limit = exempt;
      view->maps.reset();
      views.push_back(std::move(*view));
    }
    return views;
  }
  for (const pid_t pid : platform::ProcessReader(subject.root).Descendants(subject.pid)) {
    if (views.size() == kMaxProcesses) break;
    if (auto view = ReadProcess(pid, subject.root)) views.push_back(std::move(*view));
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

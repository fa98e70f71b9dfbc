#include "reveza/insight/doctor/checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <system_error>

#include "common/base/json_text.h"
#include "common/base/unique_fd.h"
#include "common/base/units.h"
#include "common/platform/process.h"
#include "common/platform/text_file.h"

namespace reveza::doctor {
namespace {

using std::chrono::seconds;

constexpr std::array kChecks = {
    Check{"visibility", seconds(10), CheckVisible},
    Check{"address space", seconds(10), CheckAddressSpace},
    Check{"memory mappings", seconds(10), CheckMapCount},
    Check{"process limits", seconds(10), CheckProcessLimits},
    Check{"machine-wide threads", seconds(10), CheckThreadCeiling},
    Check{"memory", seconds(10), CheckMemory},
    Check{"huge pages", seconds(10), CheckHugePages},
    Check{"control groups", seconds(10), CheckCgroups},
    Check{"pressure", seconds(10), CheckPressure},
    Check{"thread probe", seconds(60), CheckThreads},
    Check{"CPU cores", seconds(20), CheckCores},
    Check{"OpenMP and BLAS", seconds(10), CheckRuntimes},
    Check{"thread variables", seconds(10), CheckThreadVariables},
    Check{"thread activity", seconds(30), CheckActivity},
    Check{"CUDA variables", seconds(10), CheckCudaEnvironment},
    Check{"CUDA runtimes", seconds(20), CheckCudaRuntime},
    Check{"GPUs", seconds(20), CheckGpus},
    // Last: only with gpu_probe.
    Check{"GPU contexts", seconds(60), CheckGpuContexts},
    Check{"GPU time slicing", seconds(30), CheckGpuTurns},
};

constexpr std::size_t kProbes = 2;

using Clock = std::chrono::steady_clock;

Finding Failed(const std::string& name, const std::string& how) {
  return {
      .id = Id::kCheckFailed,
      .severity = Severity::kWarning,
      .confidence = Confidence::kMeasured,
      .observed = fmt::format("the check '{}' {}", name, how),
      .why = "its subject is unknown; the other checks are not affected",
      .fix =
          "run it again; if it fails again, please report it with the output of reveza doctor -v"};
}

void WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

// Returns what the child wrote, or nullopt on a timeout.
std::optional<std::string> ReadUntil(int file, Clock::time_point end) {
  std::string text;
  char part[4096];
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return std::nullopt;
    pollfd wait{file, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t got = read(file, part, sizeof(part));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part, static_cast<std::size_t>(got));
  }
}

[[noreturn]] void Child(int file, pid_t parent, const std::function<Findings()>& check) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  nlohmann::json found = nlohmann::json::array();
  try {
    for (const Finding& finding : check()) found.push_back(ToJson(finding));
    WriteAll(file, JsonText(found));
  } catch (const std::exception&) {
    _exit(1);
  }
  _exit(0);
}

std::optional<Findings> Parse(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) return std::nullopt;
  Findings findings;
  for (const auto& element : json) {
    auto finding = FindingFromJson(element);
    if (!finding) return std::nullopt;
    findings.push_back(std::move(*finding));
  }
  return findings;
}

struct Part {
  const char* file;  // of /proc/PID
  const char* what;
};

constexpr std::array<Part, 5> kParts = {{{"limits", "its limits"},
                                         {"status", "its memory and threads"},
                                         {"maps", "its mappings and libraries"},
                                         {"environ", "its variables"},
                                         {"fd", "its open files"}}};

Hidden ReadHidden(const ProcessView& process, const std::filesystem::path& root) {
  Hidden hidden{
      .pid = process.pid, .name = DisplayName(process), .owner = std::nullopt, .parts = {}};
  const auto folder = platform::ProcessFolder(process.pid, root);
  struct stat owner{};
  if (stat(folder.c_str(), &owner) == 0) hidden.owner = owner.st_uid;
  for (const Part& part : kParts) {
    // Permission denied differs from missing or empty.
    const UniqueFd file(open((folder / part.file).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && (errno == EACCES || errno == EPERM)) hidden.parts.emplace_back(part.what);
  }
  return hidden;
}

}  // namespace

std::span<const Check> AllChecks(bool gpu_probe) {
  return std::span(kChecks).first(kChecks.size() - (gpu_probe ? 0 : kProbes));
}

Findings RunAll(std::span<const Check> checks, const Subject& subject) {
  Findings all;
  for (const Check& check : checks) {
    auto found = RunIsolated(check.name, check.limit, [&] { return check.run(subject); });
    std::ranges::move(found, std::back_inserter(all));
  }
  return all;
}

Findings RunIsolated(const std::string& name, std::chrono::milliseconds limit,
                     const std::function<Findings()>& check) {
  auto pipe = MakePipe();
  const pid_t parent = getpid();
  const pid_t child = pipe ? fork() : -1;
  if (child < 0) {
    return {Failed(name, fmt::format("could not start: {}", std::strerror(errno)))};
  }
  if (child == 0) {
    setpgid(0, 0);
    Child(pipe->writer.get(), parent, check);
  }
  setpgid(child, child);
  pipe->writer.Reset();
  const auto text = ReadUntil(pipe->reader.get(), Clock::now() + limit);
  if (!text) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  kill(-child, SIGKILL);  // its descendants
  if (!text) {
    return {Failed(name, fmt::format("exceeded its limit of {}", FormatDuration(limit)))};
  }
  if (WIFSIGNALED(status)) {
    return {Failed(name, fmt::format("crashed: {}", strsignal(WTERMSIG(status))))};
  }
  auto findings = Parse(*text);
  if (!findings) {
    return {Failed(name, fmt::format("crashed: it exited with status {} without a result",
                                     WEXITSTATUS(status)))};
  }
  return std::move(*findings);
}

Findings DiagnoseHidden(const std::vector<Hidden>& processes) {
  Findings findings;
  for (const Hidden& process : processes) {
    if (process.parts.empty()) continue;
    const std::string owner =
        process.owner ? fmt::format("user {}", *process.owner) : std::string("another user");
    findings.push_back(
        {.id = Id::kNotVisible,
         .severity = Severity::kWarning,
         .observed =
             fmt::format("cannot read of {}: {}", process.name, fmt::join(process.parts, ", ")),
         .limit = fmt::format("it belongs to {} or has changed its credentials", owner),
         .why = "findings that depend on it are missing (libraries, CUDA, OpenMP, Python's lock, "
                "mappings, settings), which does not mean that there are no problems",
         .fix = fmt::format("sudo reveza doctor --pid {}, or as the user who started it",
                            process.pid)});
  }
  return findings;
}

Findings CheckVisible(const Subject& subject) {
  if (subject.pid == 0 || subject.seen) return {};
  const auto processes = Processes(subject);
  if (processes.empty()) {
    return {{.id = Id::kNotVisible,
             .severity = Severity::kWarning,
             .observed = fmt::format("process {} is not visible in /proc", subject.pid),
             .limit = "/proc is mounted with hidepid, or the process has just exited",
             .why = "these findings concern only the machine",
             .fix = fmt::format("sudo reveza doctor --pid {}", subject.pid)}};
  }
  std::vector<Hidden> hidden;
  for (const ProcessView& process : processes) hidden.push_back(ReadHidden(process, subject.root));
  return DiagnoseHidden(hidden);
}

}  // namespace reveza::doctor

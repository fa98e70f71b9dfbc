// What may not be looked at: the findings say nothing of it, and that is no good news.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/unique_fd.h"
#include "doctor/checks.h"
#include "doctor/visible.h"
#include "platform/process.h"
#include "platform/text_file.h"

namespace reveza::doctor {
namespace {

struct Part {
  const char* file;  // of /proc/PID
  const char* what;
};

constexpr std::array<Part, 5> kParts = {{{"limits", "its limits"},
                                         {"status", "its memory and threads"},
                                         {"maps", "its mappings and libraries"},
                                         {"environ", "its variables"},
                                         {"fd", "its open files"}}};

Hidden LookAt(const ProcessView& process, const std::filesystem::path& root) {
  Hidden hidden{.pid = process.pid, .called = Called(process), .owner = std::nullopt, .parts = {}};
  const auto folder = platform::ProcessFolder(process.pid, root);
  struct stat owner{};
  if (stat(folder.c_str(), &owner) == 0) hidden.owner = owner.st_uid;
  for (const Part& part : kParts) {
    // Refused is not the same as gone, or empty.
    const UniqueFd file(open((folder / part.file).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && (errno == EACCES || errno == EPERM)) hidden.parts.emplace_back(part.what);
  }
  return hidden;
}

}  // namespace

Findings JudgeHidden(const std::vector<Hidden>& processes) {
  Findings findings;
  for (const Hidden& process : processes) {
    if (process.parts.empty()) continue;
    const std::string owner =
        process.owner ? fmt::format("user {}", *process.owner) : std::string("another user");
    findings.push_back(
        {.id = Id::kNotVisible,
         .severity = Severity::kWarning,
         .sure = Sureness::kRead,
         .observed = fmt::format("of {} may not be read: {}", process.called,
                                 fmt::join(process.parts, ", ")),
         .limit = fmt::format("it belongs to {}, or has taken other rights", owner),
         .why = "nothing is said about what depends on it: libraries, CUDA, OpenMP, Python's lock, "
                "the count of mappings, settings; that they are not named does not mean that they "
                "are well",
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
             .sure = Sureness::kRead,
             .observed = fmt::format("nothing of process {} can be seen in /proc", subject.pid),
             .limit = "/proc is mounted with hidepid, or the process has just ended",
             .why = "what is said here is about the machine only",
             .fix = fmt::format("sudo reveza doctor --pid {}", subject.pid)}};
  }
  std::vector<Hidden> hidden;
  for (const ProcessView& process : processes) hidden.push_back(LookAt(process, subject.root));
  return JudgeHidden(hidden);
}

}  // namespace reveza::doctor

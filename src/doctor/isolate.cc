#include "doctor/isolate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>

#include "base/unique_fd.h"
#include "base/units.h"

namespace reveza::doctor {
namespace {

using Clock = std::chrono::steady_clock;

Finding Failed(const std::string& name, const std::string& how) {
  return {.id = Id::kCheckFailed,
          .severity = Severity::kWarning,
          .sure = Sureness::kMeasured,
          .observed = fmt::format("the check '{}' {}", name, how),
          .limit = "",
          .why = "what it would have looked at is not known; the other checks are not concerned",
          .fix =
              "run it again; when it stays so, please report it with the output of "
              "reveza doctor -v"};
}

void WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

// What the child wrote, or nothing when it did not close its end in time.
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
    using Json = nlohmann::json;
    WriteAll(file, found.dump(-1, ' ', false, Json::error_handler_t::replace));
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

}  // namespace

Findings RunIsolated(const std::string& name, std::chrono::milliseconds limit,
                     const std::function<Findings()>& check) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return {Failed(name, fmt::format("could not begin: {}", std::strerror(errno)))};
  }
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    return {Failed(name, fmt::format("could not begin: {}", std::strerror(errno)))};
  }
  if (child == 0) {
    setpgid(0, 0);
    Child(writer.get(), parent, check);
  }
  setpgid(child, child);
  writer = UniqueFd();
  const auto text = ReadUntil(reader.get(), Clock::now() + limit);
  if (!text) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  kill(-child, SIGKILL);  // what it may have left
  if (!text) {
    return {Failed(name, fmt::format("did not come back within {}", FormatDuration(limit)))};
  }
  if (WIFSIGNALED(status)) {
    return {Failed(name, fmt::format("crashed: {}", strsignal(WTERMSIG(status))))};
  }
  auto findings = Parse(*text);
  if (!findings) {
    return {Failed(
        name, fmt::format("crashed: it ended with status {} and no result", WEXITSTATUS(status)))};
  }
  return std::move(*findings);
}

}  // namespace reveza::doctor

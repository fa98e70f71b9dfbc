#include "runner/supervisor/step_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace reveza::runner {
namespace {

// 0, or errno. A file of the kernel takes a value in one write.
int WriteTo(const std::string& path, std::string_view value) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  return write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())
             ? 0
             : errno;
}

std::optional<std::string> TextOf(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  char text[4096];
  const ssize_t size = read(file.get(), text, sizeof(text));
  if (size < 0) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(size));
}

std::optional<std::uint64_t> NumberAt(const char* text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  return end == text ? std::nullopt : std::optional(number);
}

// The number behind a key at the beginning of a line.
std::optional<std::uint64_t> NumberOf(const std::string& text, const std::string& key) {
  const std::string all = "\n" + text;
  const auto at = all.find("\n" + key + " ");
  if (at == all.npos) return std::nullopt;
  return NumberAt(all.c_str() + at + key.size() + 2);
}

std::unexpected<Error> Refused(const std::string& path, int error) {
  return Fail(error == ENOSPC ? Error::Code::kExhausted : Error::Code::kPermission,
              path + ": " + std::strerror(error));
}

Status WriteLimits(const GroupRequest& request) {
  const bool first = request.version == 1;
  const auto set = [&](const char* file, const std::string& value) -> Status {
    const std::string path = request.folder + "/" + file;
    if (const int error = WriteTo(path, value); error != 0) return Refused(path, error);
    return {};
  };
  if (request.most != 0) {
    const std::string most = std::to_string(request.most);
    if (auto done = set(first ? "memory.limit_in_bytes" : "memory.max", most); !done) return done;
    // Else it would go on in the swap, and slow down all others. Version 1 bounds both together,
    // version 2 each by itself; a kernel that counts no swap has neither file.
    const std::string swap =
        request.folder + (first ? "/memory.memsw.limit_in_bytes" : "/memory.swap.max");
    const int error = WriteTo(swap, first ? most : "0");
    if (error != 0 && error != ENOENT) return Refused(swap, error);
  }
  if (first) return {};
  // A step of which one process was killed often waits for it for ever. Since Linux 4.19.
  static_cast<void>(WriteTo(request.folder + "/memory.oom.group", "1"));
  return {};
}

// Something runs in it; with version 2, in a group below it.
bool IsAlive(const std::string& folder) {
  const bool has_members = !TextOf(folder + "/cgroup.procs").value_or("").empty();
  const std::string events = TextOf(folder + "/cgroup.events").value_or("");
  return has_members || NumberOf(events, "populated").value_or(0) != 0;
}

// One that is there is left from an attempt that a killed supervisor had begun, and what the kernel
// counted in it is not of this one: it goes first.
Status MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) == 0) return {};
  if (errno != EEXIST) return Refused(folder, errno);
  if (IsAlive(folder)) {
    return Fail(Error::Code::kUnavailable, folder + ": something else still runs in it");
  }
  if (rmdir(folder.c_str()) == 0 && mkdir(folder.c_str(), 0755) != 0) return Refused(folder, errno);
  return {};
}

}  // namespace

Result<StepGroup> StepGroup::Make(const GroupRequest& request) {
  if (auto made = MakeFolder(request.folder); !made) return std::unexpected(made.error());
  const bool first = request.version == 1;
  const std::string entry = first ? request.folder + "/cgroup.procs" : request.folder;
  UniqueFd descriptor(open(entry.c_str(), (first ? O_WRONLY : O_PATH | O_DIRECTORY) | O_CLOEXEC));
  const int error = errno;
  StepGroup group(request.version, request.folder, std::move(descriptor));
  Status limited = group.entry_ ? WriteLimits(request) : Refused(entry, error);
  if (limited) return group;
  group.Remove();
  return std::unexpected(limited.error());
}

bool StepGroup::Kill() const {
  return version_ == 2 && WriteTo(folder_ + "/cgroup.kill", "1") == 0;
}

std::optional<GroupEnd> StepGroup::LookAt(const std::string& folder, int version) {
  GroupEnd end;
  const bool first = version == 1;
  const auto events = TextOf(folder + (first ? "/memory.oom_control" : "/memory.events"));
  if (!events) return std::nullopt;
  end.kills = NumberOf(*events, "oom_kill").value_or(0);
  // Where all go together, the one that was chosen is counted twice, unless it had given its
  // memory back by then: one that was counted was killed all the same.
  const auto twice = NumberOf(*events, "oom_group_kill").value_or(0);
  if (end.kills > 0) end.kills -= std::min(end.kills - 1, twice);
  // Of this group's own limit, not of one above it.
  if (!first) end.at_limit = NumberOf(*events, "oom").value_or(0) > 0;
  // Version 1 says how often somebody came to a limit, of memory or of memory and swap.
  for (const char* file : {"/memory.failcnt", "/memory.memsw.failcnt"}) {
    const auto failed = first ? TextOf(folder + file) : std::nullopt;
    if (failed && NumberAt(failed->c_str()).value_or(0) > 0) end.at_limit = true;
  }
  if (const auto text = TextOf(folder + (first ? "/memory.max_usage_in_bytes" : "/memory.peak"))) {
    end.peak = NumberAt(text->c_str());
  }
  return end;
}

bool StepGroup::Remove() const { return rmdir(folder_.c_str()) == 0; }

}  // namespace reveza::runner

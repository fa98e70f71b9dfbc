#include "runner/engine/step_limits.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "platform/text_file.h"
#include "platform/unix_socket.h"
#include "runner/decide/memory_limit.h"

namespace reveza::runner {
namespace {

namespace fs = std::filesystem;

// The folders of groups, a line each, by which a later runner finds them: those of a runner that
// was killed stay there until they can be removed.
fs::path NoteOf(const JobFolder& folder) { return folder.path() / "control-group"; }
// Of the scopes: with one of our own it is known where their groups are.
constexpr const char* kSlice = "reveza.slice";
// Before the path of a runner's own leaf.
constexpr std::string_view kLeafMark = "leaf ";

std::vector<std::string> ReadNote(const JobFolder& folder) {
  std::ifstream note(NoteOf(folder));
  std::vector<std::string> lines;
  for (std::string line; std::getline(note, line);) lines.push_back(line);
  return lines;
}

void WriteNote(const JobFolder& folder, const std::vector<std::string>& lines) {
  std::error_code error;
  if (lines.empty()) {
    fs::remove(NoteOf(folder), error);
    return;
  }
  std::ofstream note(NoteOf(folder));
  for (const auto& line : lines) note << line << '\n';
}

// Jobs of one name may be in several states' folders.
std::string GroupName(const JobFolder& folder) {
  const std::string path = folder.path().string();
  return fmt::format("reveza-{}-{:08x}", folder.id(), XXH32(path.data(), path.size(), 0));
}

// That no other step has, of whatever job: each prints to a file of its own.
std::string ScopeName(const AttemptName& name, const std::string& output) {
  return fmt::format("reveza-{}-{:016x}-{}.scope", getpid(),
                     XXH3_64bits(output.data(), output.size()), name.attempt);
}

std::optional<fs::path> InPath(std::string_view program, const platform::Environment& environment) {
  const std::string folders = environment("PATH").value_or("/usr/bin:/bin");
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    fs::path path = fs::path(folders.substr(at, end - at)) / program;
    if (path.is_absolute() && access(path.c_str(), X_OK) == 0) return path;
    at = end + 1;
  }
  return std::nullopt;
}

// The control group of the user's manager of systemd.
fs::path ManagersGroup(const fs::path& root) {
  return root / fmt::format("sys/fs/cgroup/user.slice/user-{0}.slice/user@{0}.service", geteuid());
}

// systemd-run, where the user's manager answers and may limit memory.
Result<fs::path> FindSystemdRun(const platform::Environment& environment, const fs::path& root) {
  const auto no = [](std::string why) { return Fail(Error::Code::kNotFound, std::move(why)); };
  const auto program = InPath("systemd-run", environment);
  if (!program) return no("no systemd-run");
  const auto runtime = environment("XDG_RUNTIME_DIR");
  if (!runtime) return no("no user manager of systemd");
  const auto manager = platform::ConnectTo(fs::path(*runtime) / "systemd/private");
  if (!manager) return no("the user manager of systemd does not answer");
  const auto controllers = platform::ReadText(ManagersGroup(root) / "cgroup.controllers");
  if (controllers && controllers->find("memory") == std::string::npos) {
    return no("the user manager of systemd may not limit memory");
  }
  return *program;
}

LimitsChoice ByGroups(platform::CgroupGround ground) {
  std::string words =
      fmt::format("control groups (version {}) in {}", ground.version, ground.folder.string());
  return {Limits::kCgroup, std::move(words), std::move(ground), {}};
}

// Without control groups, because of `reason`.
Result<LimitsChoice> NextBest(Limits wish, const std::string& reason,
                              const platform::Environment& environment, const fs::path& root) {
  const auto systemd = FindSystemdRun(environment, root);
  if (systemd) {
    return LimitsChoice{Limits::kSystemd,
                        "a scope of systemd for each",
                        {},
                        *systemd,
                        ManagersGroup(root) / kSlice};
  }
  if (wish == Limits::kSystemd) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("--limits systemd: {}; --limits auto takes what there is",
                            systemd.error().message));
  }
  return LimitsChoice{Limits::kWatch,
                      fmt::format("watched once a second (no control groups: {}; {})", reason,
                                  systemd.error().message),
                      {},
                      {}};
}

// Who started this one to run on alone is in the same group until it has said so and ended. Only
// one that was started so leads its session and has reason to wait.
std::function<bool()> ForWhoDetachedUs() {
  if (getsid(0) != getpid()) return {};
  return [left = 50]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return left-- > 0;
  };
}

}  // namespace

Result<LimitsChoice> ChooseLimits(Limits wish, const platform::Environment& environment,
                                  const fs::path& root, const std::function<bool()>& wait) {
  switch (wish) {
    case Limits::kNone:
      return LimitsChoice{Limits::kNone, "none", {}, {}};
    case Limits::kWatch:
      return LimitsChoice{Limits::kWatch, "watched once a second", {}, {}};
    case Limits::kSystemd:
      return NextBest(wish, "", environment, root);
    case Limits::kAuto:
    case Limits::kCgroup:
      break;
  }
  auto ground = platform::FindCgroupGround(root);
  while (!ground && ground.error().code == Error::Code::kUnavailable && wait && wait()) {
    ground = platform::FindCgroupGround(root);
  }
  if (ground) return ByGroups(std::move(*ground));
  if (wish == Limits::kAuto) return NextBest(wish, ground.error().message, environment, root);
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("--limits cgroup: {}; --limits auto takes what there is, and "
                          "systemd-run --user --scope -p Delegate=yes gives the runner a group",
                          ground.error().message));
}

Result<StepLimits> StepLimits::Begin(Limits wish, const platform::Environment& environment,
                                     const JobFolder& folder, const fs::path& root) {
  RemoveLeftGroups(folder);
  auto choice = ChooseLimits(wish, environment, root, ForWhoDetachedUs());
  if (!choice) return std::unexpected(choice.error());
  StepLimits limits;
  if (choice->ground) {
    auto group = JobGroup::Make(*choice->ground, GroupName(folder));
    if (group) {
      auto note = ReadNote(folder);
      std::erase(note, group->folder().string());
      note.push_back(group->folder().string());
      if (!group->leaf().empty()) {
        note.push_back(std::string(kLeafMark) + group->leaf().string());
      }
      WriteNote(folder, note);
      limits.group_ = std::make_unique<JobGroup>(std::move(*group));
    } else if (wish == Limits::kCgroup) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("--limits cgroup: {}; --limits auto takes what there is",
                              group.error().message));
    } else {
      choice = NextBest(wish, group.error().message, environment, root);
      if (!choice) return std::unexpected(choice.error());
    }
  }
  limits.choice_ = std::move(*choice);
  return limits;
}

void StepLimits::Apply(const Need& need, bool brief, bool last_turn, Active& active,
                       StartRequest& request) const {
  if (choice_.by == Limits::kNone) return;
  active.limit = MemoryLimitFor(need, last_turn);
  const bool declared = need.memory_by == KnownBy::kDeclared && active.limit;
  if (group_ && (declared || !brief)) {
    active.group = group_->ForStep(active.name);
    active.group_version = group_->version();
    request.group.folder = active.group.string();
    request.group.version = static_cast<std::uint8_t>(group_->version());
    request.group.most = active.limit.value_or(0);
  }
  if (choice_.by != Limits::kSystemd || !active.limit) return;
  const std::string unit = ScopeName(active.name, request.output);
  request.group.scope = choice_.scopes / unit;
  std::vector<std::string> scope = {choice_.systemd_run.string(), "--user", "--scope", "--quiet",
                                    "--collect"};
  scope.push_back(fmt::format("--slice={}", kSlice));
  scope.push_back(fmt::format("--unit={}", unit));
  scope.push_back(fmt::format("--property=MemoryMax={}", *active.limit));
  // Else it would go on in the swap.
  scope.emplace_back("--property=MemorySwapMax=0");
  scope.emplace_back("--");
  request.arguments.insert(request.arguments.begin(), scope.begin(), scope.end());
}

void RemoveLeftGroups(const JobFolder& folder) {
  auto lines = ReadNote(folder);
  std::erase_if(lines, [](const std::string& line) {
    return line.starts_with(kLeafMark) ? RemoveLeaf(line.substr(kLeafMark.size()))
                                       : RemoveJobGroup(line);
  });
  WriteNote(folder, lines);
}

}  // namespace reveza::runner

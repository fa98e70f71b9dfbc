#include "reveza/jobs/engine/step_limits.h"

#define XXH_INLINE_ALL

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/platform/text_file.h"
#include "common/platform/unix_socket.h"
#include "reveza/jobs/decide/admission.h"
#include "reveza/jobs/supervisor/child.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

// Returns the file that lists the job's groups, one per line, for later runners: groups of a killed
// runner stay listed until they can be removed.
fs::path GroupsFile(const JobFolder& folder) { return folder.path() / "control-group"; }
// The slice of the scopes; having our own makes the location of their groups known.
constexpr const char* kSlice = "reveza.slice";
// Marks the leaf group of a runner.
constexpr std::string_view kLeafMark = "leaf ";

std::vector<std::string> ReadGroupsFile(const JobFolder& folder) {
  std::ifstream note(GroupsFile(folder));
  std::vector<std::string> lines;
  for (std::string line; std::getline(note, line);) lines.push_back(line);
  return lines;
}

void WriteGroupsFile(const JobFolder& folder, const std::vector<std::string>& lines) {
  std::error_code error;
  if (lines.empty()) {
    fs::remove(GroupsFile(folder), error);
    return;
  }
  std::ofstream note(GroupsFile(folder));
  for (const auto& line : lines) note << line << '\n';
}

// Unique per folder, because jobs in different state folders may share a name.
std::string GroupName(const JobFolder& folder) {
  const std::string path = folder.path().string();
  return fmt::format("reveza-{}-{:08x}", folder.id(), XXH32(path.data(), path.size(), 0));
}

// Unique across jobs, because every step has its own output file.
std::string ScopeName(const AttemptName& name, const std::string& output) {
  return fmt::format("reveza-{}-{:016x}-{}.scope", getpid(),
                     XXH3_64bits(output.data(), output.size()), name.attempt);
}

// Returns the cgroup of the systemd user manager.
fs::path UserManagerGroup(const fs::path& root) {
  return root / fmt::format("sys/fs/cgroup/user.slice/user-{0}.slice/user@{0}.service", geteuid());
}

// Returns the path of systemd-run if the user manager answers and may limit memory.
Result<fs::path> FindSystemdRun(const platform::Environment& environment, const fs::path& root) {
  const auto no = [](std::string why) { return Fail(Error::Code::kNotFound, std::move(why)); };
  const std::string program =
      FindInPath("systemd-run", "/", environment("PATH").value_or("/usr/bin:/bin"));
  if (program.empty()) return no("no systemd-run");
  const auto runtime = environment("XDG_RUNTIME_DIR");
  if (!runtime) return no("no systemd user manager");
  const auto manager = platform::ConnectTo(fs::path(*runtime) / "systemd/private", SOCK_STREAM);
  if (!manager) return no("the systemd user manager does not answer");
  const auto controllers = platform::ReadText(UserManagerGroup(root) / "cgroup.controllers");
  if (controllers && controllers->find("memory") == std::string::npos) {
    return no("the systemd user manager has no memory controller");
  }
  return program;
}

LimitsChoice ByGroups(platform::CgroupDelegation ground) {
  std::string description =
      fmt::format("control groups (version {}) in {}", ground.version, ground.folder.string());
  return {Limits::kCgroup, std::move(description), std::move(ground), {}};
}

// Chooses a method other than cgroups, which are unavailable because of `reason`.
Result<LimitsChoice> FallBack(Limits requested, const std::string& reason,
                              const platform::Environment& environment, const fs::path& root) {
  const auto systemd = FindSystemdRun(environment, root);
  if (systemd) {
    return LimitsChoice{Limits::kSystemd,
                        "a systemd scope per step",
                        {},
                        *systemd,
                        UserManagerGroup(root) / kSlice};
  }
  if (requested == Limits::kSystemd) {
    return Fail(Error::Code::kInvalidArgument,
                "--limits systemd: {}; use --limits auto for the best available method",
                systemd.error().message);
  }
  return LimitsChoice{Limits::kWatch,
                      fmt::format("watched once a second (no control groups: {}; {})", reason,
                                  systemd.error().message),
                      {},
                      {}};
}

// Returns a wait function for a detached runner: its launcher shares its group until it has exited.
// Only a detached runner leads its session; for others, returns null.
std::function<bool()> RetryWhileLauncherExits() {
  if (getsid(0) != getpid()) return {};
  return [left = 50]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return left-- > 0;
  };
}

constexpr std::string_view kPrefix = "reveza-";
constexpr std::string_view kLeafPrefix = "reveza-runner-";
constexpr std::string_view kStepPrefix = "step-";
constexpr std::size_t kIdentityBytes = 8;  // of the identity; unique enough

Status WriteTo(const fs::path& path, std::string_view value) {
  const int error = platform::WriteKernelFile(path, value);
  if (error == 0) return {};
  return Fail(Error::Code::kPermission, "{}: {}", path.string(), std::strerror(error));
}

Status MakeGroup(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return Fail(Error::Code::kPermission, "{}: {}", folder.string(), std::strerror(errno));
}

}  // namespace

Result<LimitsChoice> ChooseLimits(Limits requested, const platform::Environment& environment,
                                  const fs::path& root, const std::function<bool()>& wait) {
  switch (requested) {
    case Limits::kNone:
      return LimitsChoice{Limits::kNone, "none", {}, {}};
    case Limits::kWatch:
      return LimitsChoice{Limits::kWatch, "watched once a second", {}, {}};
    case Limits::kSystemd:
      return FallBack(requested, "", environment, root);
    case Limits::kAuto:
    case Limits::kCgroup:
      break;
  }
  auto ground = platform::FindCgroupDelegation(root);
  while (!ground && ground.error().code == Error::Code::kUnavailable && wait && wait()) {
    ground = platform::FindCgroupDelegation(root);
  }
  if (ground) return ByGroups(std::move(*ground));
  if (requested == Limits::kAuto)
    return FallBack(requested, ground.error().message, environment, root);
  return Fail(Error::Code::kInvalidArgument,
              "--limits cgroup: {}; use --limits auto for the best available method, or start the "
              "runner with systemd-run --user --scope -p Delegate=yes",
              ground.error().message);
}

Result<StepLimits> StepLimits::Create(Limits requested, const platform::Environment& environment,
                                      const JobFolder& folder, const fs::path& root) {
  RemoveStaleGroups(folder);
  auto choice = ChooseLimits(requested, environment, root, RetryWhileLauncherExits());
  if (!choice) return std::unexpected(choice.error());
  StepLimits limits;
  if (choice->ground) {
    auto group = JobGroup::Make(*choice->ground, GroupName(folder));
    if (group) {
      auto lines = ReadGroupsFile(folder);
      std::erase(lines, group->folder().string());
      lines.push_back(group->folder().string());
      if (!group->leaf().empty()) {
        lines.push_back(std::string(kLeafMark) + group->leaf().string());
      }
      WriteGroupsFile(folder, lines);
      limits.group_ = std::make_unique<JobGroup>(std::move(*group));
    } else if (requested == Limits::kCgroup) {
      return Fail(Error::Code::kInvalidArgument,
                  "--limits cgroup: {}; use --limits auto for the best available method",
                  group.error().message);
    } else {
      choice = FallBack(requested, group.error().message, environment, root);
      if (!choice) return std::unexpected(choice.error());
    }
  }
  limits.choice_ = std::move(*choice);
  return limits;
}

void StepLimits::Apply(const Need& need, bool brief, bool last_attempt, ActiveAttempt& active,
                       StartRequest& request) const {
  if (choice_.by == Limits::kNone) return;
  active.limit = MemoryLimitFor(need, last_attempt);
  const bool declared = need.memory_source == ClaimSource::kDeclared && active.limit;
  if (group_ && (declared || !brief)) {
    active.group = group_->ForStep(active.name);
    active.group_version = group_->version();
    request.group.folder = active.group.string();
    request.group.version = static_cast<std::uint8_t>(group_->version());
    request.group.memory_limit = active.limit.value_or(0);
  }
  if (choice_.by != Limits::kSystemd || !active.limit) return;
  const std::string unit = ScopeName(active.name, request.output);
  request.group.scope = choice_.scopes / unit;
  std::vector<std::string> scope = {choice_.systemd_run.string(), "--user", "--scope", "--quiet",
                                    "--collect"};
  scope.push_back(fmt::format("--slice={}", kSlice));
  scope.push_back(fmt::format("--unit={}", unit));
  scope.push_back(fmt::format("--property=MemoryMax={}", *active.limit));
  // Otherwise the step would swap instead of hitting the limit.
  scope.emplace_back("--property=MemorySwapMax=0");
  scope.emplace_back("--");
  request.arguments.insert(request.arguments.begin(), scope.begin(), scope.end());
}

void RemoveStaleGroups(const JobFolder& folder) {
  auto lines = ReadGroupsFile(folder);
  std::erase_if(lines, [](const std::string& line) {
    return line.starts_with(kLeafMark) ? RemoveLeaf(line.substr(kLeafMark.size()))
                                       : RemoveJobGroup(line);
  });
  WriteGroupsFile(folder, lines);
}

Result<JobGroup> JobGroup::Make(const platform::CgroupDelegation& ground, const std::string& name) {
  JobGroup group(ground, ground.folder / name);
  RETURN_IF_ERROR(group.EnterLeaf());
  RemoveJobGroup(group.folder_);
  RETURN_IF_ERROR(MakeGroup(group.folder_));
  if (ground.version == 2) {
    RETURN_IF_ERROR(WriteTo(group.folder_ / "cgroup.subtree_control", "+memory"));
  }
  return group;
}

Status JobGroup::EnterLeaf() {
  if (ground_.must_leave) {
    const fs::path leaf = ground_.folder / fmt::format("{}{}", kLeafPrefix, getpid());
    RETURN_IF_ERROR(MakeGroup(leaf));
    leaf_ = leaf;
    RETURN_IF_ERROR(WriteTo(leaf / "cgroup.procs", std::to_string(getpid())));
  }
  if (!ground_.must_enable) return {};
  return WriteTo(ground_.folder / "cgroup.subtree_control", "+memory");
}

void JobGroup::LeaveLeaf() {
  if (leaf_.empty()) return;
  bool back = WriteTo(ground_.folder / "cgroup.subtree_control", "-memory").has_value();
  const std::string members = platform::ReadText(leaf_ / "cgroup.procs").value_or("");
  for (const auto process : platform::Lines(members)) {
    back = WriteTo(ground_.folder / "cgroup.procs", process).has_value() && back;
  }
  // Otherwise another program has created groups here, and the leaf stays until this process exits.
  if (back) rmdir(leaf_.c_str());
}

JobGroup::JobGroup(JobGroup&& other) noexcept
    : ground_(std::move(other.ground_)),
      folder_(std::exchange(other.folder_, {})),
      leaf_(std::exchange(other.leaf_, {})) {}

JobGroup::~JobGroup() {
  if (folder_.empty()) return;
  RemoveJobGroup(folder_);
  LeaveLeaf();
}

fs::path JobGroup::ForStep(const AttemptName& name) const {
  std::string what;
  for (std::size_t i = 0; i < kIdentityBytes; ++i) {
    fmt::format_to(std::back_inserter(what), "{:02x}", name.identity[i]);
  }
  return folder_ / fmt::format("{}{}-{}", kStepPrefix, what, name.attempt);
}

bool RemoveJobGroup(const fs::path& folder) {
  if (!folder.filename().string().starts_with(kPrefix)) return false;
  for (const fs::path& path : platform::ListFolder(folder).value_or(std::vector<fs::path>{})) {
    if (path.filename().string().starts_with(kStepPrefix)) rmdir(path.c_str());
  }
  return rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

bool RemoveLeaf(const fs::path& leaf) {
  if (!leaf.filename().string().starts_with(kLeafPrefix)) return false;
  if (rmdir(leaf.c_str()) != 0) return errno == ENOENT;
  const fs::path ground = leaf.parent_path();
  std::error_code error;
  for (const fs::path& path : platform::ListFolder(ground).value_or(std::vector<fs::path>{})) {
    if (fs::is_directory(path, error)) return true;
  }
  // Failure means that the controller is still in use.
  static_cast<void>(WriteTo(ground / "cgroup.subtree_control", "-memory"));
  return true;
}

}  // namespace reveza::jobs

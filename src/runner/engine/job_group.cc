#include "runner/engine/job_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "platform/list_folder.h"
#include "platform/text_file.h"

namespace reveza::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOurs = "reveza-";
constexpr std::string_view kLeaf = "reveza-runner-";
constexpr std::string_view kStep = "step-";
constexpr std::size_t kNamedBytes = 8;  // of an identity, which tell steps apart well enough

Status WriteTo(const fs::path& path, std::string_view value) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file && write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())) {
    return {};
  }
  return Fail(Error::Code::kPermission, fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

Status MakeGroup(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return Fail(Error::Code::kPermission,
              fmt::format("{}: {}", folder.string(), std::strerror(errno)));
}

}  // namespace

Result<JobGroup> JobGroup::Make(const platform::CgroupGround& ground, const std::string& name) {
  JobGroup group(ground, ground.folder / name);
  if (auto entered = group.Enter(); !entered) return std::unexpected(entered.error());
  RemoveJobGroup(group.folder_);
  if (auto made = MakeGroup(group.folder_); !made) return std::unexpected(made.error());
  if (ground.version == 2) {
    const auto enabled = WriteTo(group.folder_ / "cgroup.subtree_control", "+memory");
    if (!enabled) return std::unexpected(enabled.error());
  }
  return group;
}

Status JobGroup::Enter() {
  if (ground_.must_leave) {
    const fs::path leaf = ground_.folder / fmt::format("{}{}", kLeaf, getpid());
    if (auto made = MakeGroup(leaf); !made) return made;
    leaf_ = leaf;
    if (auto moved = WriteTo(leaf / "cgroup.procs", std::to_string(getpid())); !moved) return moved;
  }
  if (!ground_.must_enable) return {};
  return WriteTo(ground_.folder / "cgroup.subtree_control", "+memory");
}

void JobGroup::Leave() {
  if (leaf_.empty()) return;
  bool back = WriteTo(ground_.folder / "cgroup.subtree_control", "-memory").has_value();
  const std::string members = platform::ReadText(leaf_ / "cgroup.procs").value_or("");
  for (const auto process : platform::Lines(members)) {
    back = WriteTo(ground_.folder / "cgroup.procs", process).has_value() && back;
  }
  // Else somebody else has made groups here meanwhile, and this one stays until its program ends.
  if (back) rmdir(leaf_.c_str());
}

JobGroup::JobGroup(JobGroup&& other) noexcept
    : ground_(std::move(other.ground_)),
      folder_(std::exchange(other.folder_, {})),
      leaf_(std::exchange(other.leaf_, {})) {}

JobGroup::~JobGroup() {
  if (folder_.empty()) return;
  RemoveJobGroup(folder_);
  Leave();
}

fs::path JobGroup::ForStep(const AttemptName& name) const {
  std::string what;
  for (std::size_t i = 0; i < kNamedBytes; ++i) {
    fmt::format_to(std::back_inserter(what), "{:02x}", name.identity[i]);
  }
  return folder_ / fmt::format("{}{}-{}", kStep, what, name.attempt);
}

bool RemoveJobGroup(const fs::path& folder) {
  if (!folder.filename().string().starts_with(kOurs)) return false;
  for (const fs::path& path : platform::ListFolder(folder).value_or(std::vector<fs::path>{})) {
    if (path.filename().string().starts_with(kStep)) rmdir(path.c_str());
  }
  return rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

bool RemoveLeaf(const fs::path& leaf) {
  if (!leaf.filename().string().starts_with(kLeaf)) return false;
  if (rmdir(leaf.c_str()) != 0) return errno == ENOENT;
  const fs::path ground = leaf.parent_path();
  std::error_code error;
  for (const fs::path& path : platform::ListFolder(ground).value_or(std::vector<fs::path>{})) {
    if (fs::is_directory(path, error)) return true;
  }
  // Where that fails the kernel has a use for it.
  static_cast<void>(WriteTo(ground / "cgroup.subtree_control", "-memory"));
  return true;
}

}  // namespace reveza::runner

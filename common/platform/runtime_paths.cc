#include "common/platform/runtime_paths.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

namespace reveza::platform {

namespace fs = std::filesystem;

std::optional<std::string> ProcessEnvironment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || value[0] == '\0') return std::nullopt;
  return value;
}

fs::path UserSocket(const Environment& environment, uid_t uid) {
  if (const auto folder = environment("XDG_RUNTIME_DIR")) {
    return fs::path(*folder) / "reveza" / "revezad.sock";
  }
  return fs::path(fmt::format("/tmp/reveza-{}", uid)) / "revezad.sock";
}

Result<fs::path> StateHome(const Environment& environment) {
  if (const auto own = environment("REVEZA_STATE")) return fs::absolute(*own);
  if (const auto state = environment("XDG_STATE_HOME")) return fs::path(*state) / "reveza";
  if (const auto home = environment("HOME")) return fs::path(*home) / ".local/state/reveza";
  return Fail(Error::Code::kNotFound, "no state folder: set REVEZA_STATE or HOME");
}

Status PrepareSocketFolder(const fs::path& socket, uid_t uid) {
  const fs::path folder = socket.parent_path();
  if (folder.empty()) {
    return Fail(Error::Code::kInvalidArgument, "invalid socket path '{}'; write an absolute path",
                socket.string());
  }
  std::error_code error;
  if (!fs::exists(folder.parent_path(), error)) fs::create_directories(folder.parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Fail(Error::Code::kPermission, "cannot create the folder {}: {}", folder.string(),
                std::strerror(errno));
  }
  struct stat info{};
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Fail(Error::Code::kPermission, "{} is not a folder", folder.string());
  }
  if (info.st_uid != uid && info.st_uid != 0) {
    return Fail(Error::Code::kPermission,
                "{} belongs to another user (uid {}); set REVEZA_SOCKET to a path of your own",
                folder.string(), info.st_uid);
  }
  if ((info.st_mode & S_IWOTH) != 0) {
    return Fail(Error::Code::kPermission, "{} is writable by others; run: chmod 700 {}",
                folder.string(), folder.string());
  }
  return {};
}

fs::path ProgramFolder() {
  // Not read_symlink(), which looks at the link first: QEMU's emulation of it cannot.
  std::array<char, PATH_MAX> target;
  const ssize_t length = readlink("/proc/self/exe", target.data(), target.size());
  if (length <= 0) return {};
  return fs::path(std::string_view(target.data(), static_cast<std::size_t>(length))).parent_path();
}

}  // namespace reveza::platform

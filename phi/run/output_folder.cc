#include "phi/run/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "common/base/read_file.h"
#include "common/base/system_error.h"
#include "phi/output/rows.h"
#include "phi/run/legacy_json.h"
#include "phi/run/outcome.h"

namespace reveza::phi {
namespace {

Result<std::optional<std::filesystem::path>> FindLeftover(
    const RunSettings& settings, const std::array<std::filesystem::path, 2>& files) {
  auto rows = FindRows(settings.folder);
  if (!rows || *rows) return rows;
  for (const std::filesystem::path& file : files) {
    ASSIGN_OR_RETURN(const auto is_there, FileExists(file));
    if (is_there) return file;
  }
  return std::nullopt;
}

}  // namespace

Result<UniqueFd> LockFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  UniqueFd file(open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) {
    const int reason = errno;
    const bool refused = reason == EACCES || reason == EPERM || reason == EROFS;
    return Fail(refused ? Error::Code::kPermission : Error::Code::kUnavailable,
                "cannot write to the folder {}: {}", folder.string(), std::strerror(reason));
  }
  int reason = 0;
  do {
    reason = flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  } while (reason == EINTR);
  if (reason != 0 && reason != EWOULDBLOCK) {
    return std::unexpected(SystemError(fmt::format("cannot lock {}", folder.string()), reason));
  }
  if (reason != 0) {
    return Fail(Error::Code::kUnavailable,
                "another phi process is using {}; wait for it, or use another --output",
                folder.string());
  }
  return file;
}

Status PrepareFolder(const RunSettings& settings) {
  const std::array files = {SummaryPath(settings), LegacyRecordsPath(settings)};
  if (!settings.fresh) {
    ASSIGN_OR_RETURN(const auto found, FindLeftover(settings, files));
    if (!found) return {};
    return Fail(Error::Code::kIncompatible,
                "{} exists without a checkpoint and would be overwritten; use another --output, or "
                "--fresh to replace it",
                found->string());
  }
  RETURN_IF_ERROR(RemoveRows(settings.folder));
  for (const std::filesystem::path& file : files) {
    std::error_code error;
    std::filesystem::remove(file, error);
    if (!error) continue;
    return Fail(Error::Code::kPermission, "cannot remove {}: {}", file.string(), error.message());
  }
  return {};
}

}  // namespace reveza::phi

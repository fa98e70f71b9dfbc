#include "phi/run/folder_contents.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/file_bytes.h"
#include "phi/output/rows.h"
#include "phi/run/legacy_json.h"
#include "phi/run/outcome.h"

namespace reveza::phi {
namespace {

Result<std::optional<std::filesystem::path>> FindSomething(
    const RunSettings& settings, const std::array<std::filesystem::path, 2>& files) {
  auto rows = FindRows(settings.folder);
  if (!rows || *rows) return rows;
  for (const std::filesystem::path& file : files) {
    const auto is_there = IsThere(file);
    if (!is_there) return std::unexpected(is_there.error());
    if (*is_there) return file;
  }
  return std::nullopt;
}

}  // namespace

Status ClearFolder(const RunSettings& settings) {
  const std::array files = {SummaryPath(settings), LegacyRecordsPath(settings)};
  if (!settings.fresh) {
    const auto found = FindSomething(settings, files);
    if (!found) return std::unexpected(found.error());
    if (!*found) return {};
    return Fail(Error::Code::kIncompatible,
                fmt::format("{} lies there without a checkpoint to go on from, and would be lost; "
                            "give another --output, or --fresh to begin anew in its place",
                            (*found)->string()));
  }
  if (auto removed = RemoveRows(settings.folder); !removed) return removed;
  for (const std::filesystem::path& file : files) {
    std::error_code error;
    std::filesystem::remove(file, error);
    if (!error) continue;
    return Fail(Error::Code::kPermission,
                fmt::format("cannot remove {}: {}", file.string(), error.message()));
  }
  return {};
}

}  // namespace reveza::phi

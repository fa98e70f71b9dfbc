#include <fmt/format.h>

#include <array>
#include <string>
#include <system_error>

#include "base/file_bytes.h"
#include "phi/output/rows.h"

namespace reveza::phi {
namespace {

constexpr std::array kFormats = {RowFormat::kCsv, RowFormat::kJsonLines, RowFormat::kParquet};

// "part-000000.parquet", or ".part-000000.parquet.0.partial".
bool IsPart(const std::string& name) {
  return (name.starts_with("part-") && name.ends_with(".parquet")) ||
         (name.starts_with(".part-") && name.ends_with(".partial"));
}

Status RemovePath(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (!error) return {};
  return Fail(Error::Code::kPermission,
              fmt::format("cannot remove {}: {}", path.string(), error.message()));
}

// The folder stays where somebody else has put files into it.
Status RemoveParts(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!IsPart(entry->path().filename().string())) continue;
    if (auto removed = RemovePath(entry->path()); !removed) return removed;
  }
  if (error) {
    return Fail(Error::Code::kPermission,
                fmt::format("cannot look into {}: {}", folder.string(), error.message()));
  }
  std::filesystem::remove(folder, error);
  return {};
}

}  // namespace

std::filesystem::path RowsPath(const std::filesystem::path& folder, RowFormat format) {
  return folder / fmt::format("rows.{}", NameOf(format));
}

Result<std::optional<std::filesystem::path>> FindRows(const std::filesystem::path& folder) {
  for (const RowFormat format : kFormats) {
    std::filesystem::path path = RowsPath(folder, format);
    const auto is_there = IsThere(path);
    if (!is_there) return std::unexpected(is_there.error());
    if (*is_there) return path;
  }
  return std::nullopt;
}

Status RemoveRows(const std::filesystem::path& folder) {
  for (const RowFormat format : kFormats) {
    std::error_code ignored;
    const std::filesystem::path path = RowsPath(folder, format);
    const bool parts =
        format == RowFormat::kParquet && std::filesystem::is_directory(path, ignored);
    if (auto removed = parts ? RemoveParts(path) : RemovePath(path); !removed) return removed;
  }
  return {};
}

}  // namespace reveza::phi

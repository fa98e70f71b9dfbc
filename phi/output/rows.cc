#include "phi/output/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "common/base/nearest.h"
#include "common/base/read_file.h"
#include "common/table/arrow.h"

namespace reveza::phi {
namespace {

constexpr std::array kFormats = {RowFormat::kCsv, RowFormat::kJsonLines, RowFormat::kParquet};
constexpr std::array<std::string_view, kFormats.size()> kFormatNames = {"csv", "jsonl", "parquet"};

// Whether `name` is that of a part ("part-000000.parquet") or of an unfinished one
// (".part-000000.parquet.0.partial").
bool IsPart(const std::string& name) {
  return (name.starts_with("part-") && name.ends_with(".parquet")) ||
         (name.starts_with(".part-") && name.ends_with(".partial"));
}

Status RemovePath(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (!error) return {};
  return Fail(Error::Code::kPermission, "cannot remove {}: {}", path.string(), error.message());
}

// Removes the parts, and the folder unless it holds other files.
Status RemoveParts(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!IsPart(entry->path().filename().string())) continue;
    RETURN_IF_ERROR(RemovePath(entry->path()));
  }
  if (error) {
    return Fail(Error::Code::kPermission, "cannot list {}: {}", folder.string(), error.message());
  }
  std::filesystem::remove(folder, error);
  return {};
}

}  // namespace

void RowBlock::Clear() {
  run.clear();
  cycle.clear();
  hash.clear();
  states.clear();
  measures.clear();
}

std::string_view NameOf(RowFormat format) { return kFormatNames[static_cast<std::size_t>(format)]; }

Result<RowFormat> ParseRowFormat(std::string_view name) {
  const auto found = std::ranges::find(kFormatNames, name);
  if (found == kFormatNames.end()) {
    return InvalidArgument("--format: unknown format '{}'{}; use csv, jsonl or parquet", name,
                           DidYouMean(name, kFormatNames));
  }
  const RowFormat format = kFormats[static_cast<std::size_t>(found - kFormatNames.begin())];
  if (format == RowFormat::kParquet && !kHaveArrow) {
    return WithoutArrow("Parquet files", "use csv or jsonl");
  }
  return format;
}

std::filesystem::path RowsPath(const std::filesystem::path& folder, RowFormat format) {
  return folder / fmt::format("rows.{}", NameOf(format));
}

Result<std::optional<std::filesystem::path>> FindRows(const std::filesystem::path& folder) {
  for (const RowFormat format : kFormats) {
    std::filesystem::path path = RowsPath(folder, format);
    ASSIGN_OR_RETURN(const auto is_there, FileExists(path));
    if (is_there) return path;
  }
  return std::nullopt;
}

Status RemoveRows(const std::filesystem::path& folder) {
  for (const RowFormat format : kFormats) {
    std::error_code ignored;
    const std::filesystem::path path = RowsPath(folder, format);
    const bool parts =
        format == RowFormat::kParquet && std::filesystem::is_directory(path, ignored);
    RETURN_IF_ERROR(parts ? RemoveParts(path) : RemovePath(path));
  }
  return {};
}

}  // namespace reveza::phi

#include "phi/output/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "common/base/nearest.h"
#include "common/base/read_file.h"
#include "common/platform/standard_output.h"
#include "common/table/arrow.h"
#include "phi/output/appended_file.h"
#include "phi/output/columnar/parquet_rows.h"

namespace reveza::phi {
namespace {

constexpr std::array kFormats = {RowFormat::kCsv, RowFormat::kParquet};
constexpr std::array<std::string_view, kFormats.size()> kFormatNames = {"csv", "parquet"};

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

// Writes CSV to a file, or to standard output if there is none.
class CsvRows final : public RowWriter {
 public:
  CsvRows(RowLayout layout, std::optional<AppendedFile> file, const RowPosition& place)
      : layout_(std::move(layout)), file_(std::move(file)), place_(place) {}

  Status Append(const RowBlock& rows) override {
    std::string text;
    if (place_.rows == 0) text = HeadingOf(layout_);
    AppendCsv(layout_, rows, text);
    place_.rows += rows.run.size();
    if (file_) return file_->Append(text);
    place_.bytes += text.size();
    return platform::WriteStandardOutput(text);
  }

  Result<RowPosition> Sync() override {
    if (file_) {
      ASSIGN_OR_RETURN(place_.bytes, file_->Sync());
    } else {
      RETURN_IF_ERROR(platform::FlushStandardOutput());
    }
    return place_;
  }

 private:
  RowLayout layout_;
  std::optional<AppendedFile> file_;
  RowPosition place_;
};

}  // namespace

std::string_view NameOf(RowFormat format) { return kFormatNames[static_cast<std::size_t>(format)]; }

Result<RowFormat> ParseRowFormat(std::string_view name) {
  const auto found = std::ranges::find(kFormatNames, name);
  if (found == kFormatNames.end()) {
    return InvalidArgument("--format: unknown format '{}'{}; use csv or parquet", name,
                           DidYouMean(name, kFormatNames));
  }
  const RowFormat format = kFormats[static_cast<std::size_t>(found - kFormatNames.begin())];
  if (format == RowFormat::kParquet && !kHaveArrow) {
    return WithoutArrow("Parquet files", "use csv");
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

Result<std::unique_ptr<RowWriter>> OpenRows(const std::filesystem::path& folder, RowFormat format,
                                            const RowLayout& layout, const RowPosition& place) {
  if (format == RowFormat::kParquet) {
    if constexpr (kHaveArrow) return OpenParquetRows(RowsPath(folder, format), layout, place);
    return WithoutArrow("Parquet files", "use csv");
  }
  ASSIGN_OR_RETURN(auto file, AppendedFile::Open(RowsPath(folder, format), place.bytes));
  return std::make_unique<CsvRows>(layout, std::move(file), place);
}

std::unique_ptr<RowWriter> RowsOnStandardOutput(const RowLayout& layout) {
  return std::make_unique<CsvRows>(layout, std::nullopt, RowPosition());
}

std::string HeadingOf(const RowLayout& layout) {
  std::string heading = "run,cycle,hash";
  for (const std::string& name : layout.states) heading += "," + name;
  for (const std::string& name : layout.measures) heading += "," + name;
  return heading + "\n";
}

void AppendCsv(const RowLayout& layout, const RowBlock& rows, std::string& to) {
  auto out = std::back_inserter(to);
  for (std::size_t i = 0; i < rows.run.size(); ++i) {
    fmt::format_to(out, "{},{},{:016x}", rows.run[i], rows.cycle[i], rows.hash[i]);
    for (std::size_t k = 0; k < layout.states.size(); ++k) {
      fmt::format_to(out, ",{}", rows.states[i * layout.states.size() + k]);
    }
    for (std::size_t k = 0; k < layout.measures.size(); ++k) {
      const double value = rows.measures[i * layout.measures.size() + k];
      to.push_back(',');
      if (!std::isnan(value)) fmt::format_to(out, "{}", value);
    }
    to.push_back('\n');
  }
}

}  // namespace reveza::phi

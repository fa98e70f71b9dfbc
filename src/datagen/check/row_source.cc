#include "datagen/check/row_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "datagen/check/arrow_rows.h"
#include "datagen/check/text_rows.h"
#include "datagen/defects/broken_table.h"
#include "datagen/run/partition.h"

namespace reveza::datagen::check {
namespace {

Result<std::unique_ptr<RowSource>> OpenFile(std::unique_ptr<ByteSource> bytes,
                                            const TableOptions& options, const Table& table,
                                            const std::string& file, ReadFaults& faults) {
  switch (options.format) {
    case Format::kJsonLines:
    case Format::kJson:
      return OpenJsonRows(std::move(bytes), table, file, faults);
    case Format::kCsv:
      return OpenSeparatedRows(std::move(bytes), ',', table, file, faults);
    case Format::kTsv:
      return OpenSeparatedRows(std::move(bytes), '\t', table, file, faults);
    case Format::kParquet:
    case Format::kArrow:
      return OpenArrowRows(std::move(bytes), options, table, file, faults);
  }
  return Fail(Error::Code::kInternal, "a format that is not known");
}

// A column whose value is in the name of the file's folder.
struct Fixed {
  std::size_t column = 0;
  std::optional<uint16_t> value;  // a category's code, a boolean's 0 or 1; nothing: null
  bool unknown = false;           // what stands where a value should that nobody knows
};

// Nothing where the column cannot have this value.
std::optional<Fixed> FixedOf(const Table& table, std::size_t index, const std::string& value) {
  const Column& column = table.columns[index];
  if (value == kNullPartition) return Fixed{index, {}};
  if (column.type == ColumnType::kBoolean && (value == "true" || value == "false")) {
    return Fixed{index, static_cast<uint16_t>(value == "true")};
  }
  const auto found = std::ranges::find(column.values, value);
  if (column.type == ColumnType::kCategory && value == kUnknownValue) {
    return Fixed{.column = index, .value = {}, .unknown = true};
  }
  if (column.type != ColumnType::kCategory || found == column.values.end()) return std::nullopt;
  return Fixed{index, static_cast<uint16_t>(found - column.values.begin())};
}

// The columns that are in the folders, state=SP/, before the file's name; those of days are in the
// file too.
Result<std::vector<Fixed>> FixedOf(const Table& table, std::string_view file) {
  std::vector<Fixed> all;
  for (std::size_t slash = file.find('/'); slash != file.npos; slash = file.find('/')) {
    const std::string_view folder = file.substr(0, slash);
    const std::size_t equals = folder.find('=');
    file.remove_prefix(slash + 1);
    if (equals == folder.npos) continue;
    const auto column = std::ranges::find(table.columns, folder.substr(0, equals), FlatName);
    if (column == table.columns.end()) continue;
    const auto fixed = FixedOf(table, static_cast<std::size_t>(column - table.columns.begin()),
                               UnescapePartition(folder.substr(equals + 1)));
    if (!fixed) {
      return Fail(
          Error::Code::kInvalidArgument,
          fmt::format(
              "the folder {} is of no value that {} may have", folder,
              table.columns[static_cast<std::size_t>(column - table.columns.begin())].name));
    }
    all.push_back(*fixed);
  }
  return all;
}

// Gives the rows the columns that are in the folders' names.
class FolderSource final : public RowSource {
 public:
  FolderSource(const Table& table, std::vector<Fixed> fixed)
      : fixed_(std::move(fixed)), stored_(table) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (std::ranges::find(fixed_, i, &Fixed::column) != fixed_.end()) continue;
      columns_.push_back(table.columns[i]);
      places_.push_back(i);
    }
    stored_.columns = columns_;
    batch_ = std::make_unique<Batch>(stored_);
  }

  Status Open(std::unique_ptr<ByteSource> bytes, const TableOptions& options,
              const std::string& file, ReadFaults& faults) {
    auto opened = OpenFile(std::move(bytes), options, stored_, file, faults);
    if (!opened) return std::unexpected(std::move(opened).error());
    source_ = *std::move(opened);
    file_ = file;
    faults_ = &faults;
    return {};
  }

  Result<bool> Next(Batch& batch) override {
    auto more = source_->Next(*batch_);
    if (!more || !*more) return more;
    batch.Begin(batch_->rows());
    for (std::size_t i = 0; i < places_.size(); ++i) {
      // Exchanged and not copied: the next rows come into the other's memory.
      std::swap(batch.column(places_[i]), batch_->column(i));
    }
    for (const Fixed& fixed : fixed_) {
      ColumnValues& column = batch.column(fixed.column);
      column.present.assign(batch.rows(), fixed.value ? 1 : 0);
      if (!fixed.value) Count(batch, fixed);
      const uint16_t value = fixed.value.value_or(0);
      column.codes.assign(column.codes.empty() ? 0 : batch.rows(), value);
      column.flags.assign(column.flags.empty() ? 0 : batch.rows(), static_cast<uint8_t>(value));
    }
    rows_before_ += batch.rows();
    return true;
  }

 private:
  // A folder that only rows can be in that are wrong.
  void Count(const Batch& batch, const Fixed& fixed) {
    const Column& column = batch.table().columns[fixed.column];
    if (!fixed.unknown && column.nullable == Nullable::kYes) return;
    Tally& tally = fixed.unknown ? faults_->categories : faults_->nulls;
    const Position position{.file = file_, .first_row = rows_before_};
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      tally.Bad(position, row, [&] {
        return fmt::format("{} is {}", column.name, fixed.unknown ? kUnknownValue : "null");
      });
    }
  }

  std::string file_;
  ReadFaults* faults_ = nullptr;
  uint64_t rows_before_ = 0;
  std::vector<Fixed> fixed_;
  std::vector<Column> columns_;
  std::vector<std::size_t> places_;
  Table stored_;
  std::unique_ptr<Batch> batch_;  // of what is in the file
  std::unique_ptr<RowSource> source_;
};

}  // namespace

Result<std::unique_ptr<RowSource>> OpenRows(std::unique_ptr<ByteSource> bytes,
                                            const TableOptions& options, const Table& table,
                                            const std::string& file, ReadFaults& faults) {
  auto fixed = FixedOf(table, file);
  if (!fixed) return std::unexpected(std::move(fixed).error());
  if (fixed->empty()) return OpenFile(std::move(bytes), options, table, file, faults);
  auto source = std::make_unique<FolderSource>(table, *std::move(fixed));
  if (auto opened = source->Open(std::move(bytes), options, file, faults); !opened) {
    return std::unexpected(std::move(opened).error());
  }
  return source;
}

}  // namespace reveza::datagen::check

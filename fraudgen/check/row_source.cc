#include "fraudgen/check/row_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/table/arrow.h"
#include "fraudgen/check/text_rows.h"
#include "fraudgen/model/defects/defect_injector.h"
#include "fraudgen/output/text_codec.h"
#include "fraudgen/run/partition.h"

namespace reveza::fraudgen::check {
namespace {

Result<std::unique_ptr<RowSource>> OpenFile(std::unique_ptr<ByteSource> bytes,
                                            const TableOptions& options, const Table& table,
                                            const std::string& file, ReadFaults& faults) {
  if (!IsColumnar(options.format) && options.text_codec != Codec::kNone) {
    ASSIGN_OR_RETURN(bytes, OpenCompressed(options.text_codec, std::move(bytes)));
  }
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
      break;
  }
  if constexpr (kHaveArrow) {
    return OpenArrowRows(std::move(bytes), options, table, file, faults);
  } else {
    return WithoutArrow("Parquet and Arrow files", "check text files");
  }
}

// A partition key and its value.
struct KeyValue {
  std::size_t column = 0;
  std::optional<uint16_t> value;  // a category's code, or 0 or 1 of a boolean; unset: null
  bool unknown = false;           // kUnknownValue, an injected defect
};

// Returns nullopt if the value is invalid for the column.
std::optional<KeyValue> KeyValueOf(const Table& table, std::size_t index,
                                   const std::string& value) {
  const Column& column = table.columns[index];
  if (value == kNullPartition) return KeyValue{index, {}};
  if (column.type == ColumnType::kBoolean && (value == "true" || value == "false")) {
    return KeyValue{index, static_cast<uint16_t>(value == "true")};
  }
  const auto found = std::ranges::find(column.values, value);
  if (column.type == ColumnType::kCategory && value == kUnknownValue) {
    return KeyValue{.column = index, .value = {}, .unknown = true};
  }
  if (column.type != ColumnType::kCategory || found == column.values.end()) return std::nullopt;
  return KeyValue{index, static_cast<uint16_t>(found - column.values.begin())};
}

// Parses the folders of a path, state=SP/. Day keys are not columns and are skipped.
Result<std::vector<KeyValue>> KeyValueOf(const Table& table, std::string_view file) {
  std::vector<KeyValue> all;
  for (std::size_t slash = file.find('/'); slash != file.npos; slash = file.find('/')) {
    const std::string_view folder = file.substr(0, slash);
    const std::size_t equals = folder.find('=');
    file.remove_prefix(slash + 1);
    if (equals == folder.npos) continue;
    const auto column = std::ranges::find(table.columns, folder.substr(0, equals), FlatName);
    if (column == table.columns.end()) continue;
    const auto key = KeyValueOf(table, static_cast<std::size_t>(column - table.columns.begin()),
                                UnescapePartition(folder.substr(equals + 1)));
    if (!key) {
      return Fail(Error::Code::kInvalidArgument, "the folder {} has an invalid value of {}", folder,
                  table.columns[static_cast<std::size_t>(column - table.columns.begin())].name);
    }
    all.push_back(*key);
  }
  return all;
}

// Adds the partition keys to the rows of a file.
class FolderSource final : public RowSource {
 public:
  FolderSource(const Table& table, std::vector<KeyValue> key, const std::string& file,
               ReadFaults& faults)
      : file_(file), faults_(faults), keys_(std::move(key)), stored_(table) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (std::ranges::find(keys_, i, &KeyValue::column) != keys_.end()) continue;
      columns_.push_back(table.columns[i]);
      places_.push_back(i);
    }
    stored_.columns = columns_;
    batch_ = std::make_unique<Batch>(stored_);
  }

  Status Open(std::unique_ptr<ByteSource> bytes, const TableOptions& options) {
    ASSIGN_OR_RETURN(source_, OpenFile(std::move(bytes), options, stored_, file_, faults_));
    return {};
  }

  Result<bool> Next(Batch& batch) override {
    auto more = source_->Next(*batch_);
    if (!more || !*more) return more;
    batch.Begin(batch_->rows());
    for (std::size_t i = 0; i < places_.size(); ++i) {
      // Swapped to reuse the memory.
      std::swap(batch.column(places_[i]), batch_->column(i));
    }
    for (const KeyValue& key : keys_) {
      ColumnValues& column = batch.column(key.column);
      column.present.assign(batch.rows(), key.value ? 1 : 0);
      if (!key.value) Count(batch, key);
      const uint16_t value = key.value.value_or(0);
      column.codes.assign(column.codes.empty() ? 0 : batch.rows(), value);
      column.flags.assign(column.flags.empty() ? 0 : batch.rows(), static_cast<uint8_t>(value));
    }
    rows_before_ += batch.rows();
    return true;
  }

 private:
  // Counts the rows of folders that only defective rows can have.
  void Count(const Batch& batch, const KeyValue& key) {
    const Column& column = batch.table().columns[key.column];
    if (!key.unknown && column.nullable == Nullable::kYes) return;
    Tally& tally = key.unknown ? faults_.categories : faults_.nulls;
    const Position position{.file = file_, .first_row = rows_before_};
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      tally.AddFailure(position, row, [&] {
        return fmt::format("{} is {}", column.name, key.unknown ? kUnknownValue : "null");
      });
    }
  }

  std::string file_;
  ReadFaults& faults_;
  uint64_t rows_before_ = 0;
  std::vector<KeyValue> keys_;
  std::vector<Column> columns_;
  std::vector<std::size_t> places_;
  Table stored_;
  std::unique_ptr<Batch> batch_;  // rows as stored in the file
  std::unique_ptr<RowSource> source_;
};

}  // namespace

ReadFaults::ReadFaults(const Table& table)
    : columns(fmt::format("{}: columns match the schema", table.name)),
      nulls(fmt::format("{}: nulls only in nullable columns", table.name)),
      categories(fmt::format("{}: categories match the schema", table.name)),
      values(fmt::format("{}: values match the column types", table.name)) {}

void ReadFaults::AddChecked(const Table& table, uint64_t rows) {
  const uint64_t values_read = rows * table.columns.size();
  columns.AddChecked(rows);
  nulls.AddChecked(values_read);
  categories.AddChecked(rows * static_cast<uint64_t>(std::ranges::count(
                                   table.columns, ColumnType::kCategory, &Column::type)));
  values.AddChecked(values_read);
}

Result<std::unique_ptr<RowSource>> OpenRows(std::unique_ptr<ByteSource> bytes,
                                            const TableOptions& options, const Table& table,
                                            const std::string& file, ReadFaults& faults) {
  ASSIGN_OR_RETURN(auto key, KeyValueOf(table, file));
  if (key.empty()) return OpenFile(std::move(bytes), options, table, file, faults);
  auto source = std::make_unique<FolderSource>(table, std::move(key), file, faults);
  RETURN_IF_ERROR(source->Open(std::move(bytes), options));
  return source;
}

}  // namespace reveza::fraudgen::check

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "common/table/arrow_status.h"
#include "fraudgen/check/row_source.h"
#include "fraudgen/check/text_rows.h"

namespace reveza::fraudgen::check {
namespace {

constexpr std::string_view kMoneyUnit = "BRL";
constexpr std::array<double, 10> kPowersOfTen = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

// Adapts a ByteSource to Arrow.
class SourceFile final : public arrow::io::RandomAccessFile {
 public:
  explicit SourceFile(std::unique_ptr<ByteSource> bytes) : bytes_(std::move(bytes)) {
    set_mode(arrow::io::FileMode::READ);
  }

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override {
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> GetSize() override { return static_cast<int64_t>(bytes_->size()); }

  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, void* to) override {
    if (position < 0 || count < 0) return arrow::Status::Invalid("negative position or count");
    const auto got =
        bytes_->ReadAt(static_cast<uint64_t>(position),
                       std::span(static_cast<char*>(to), static_cast<std::size_t>(count)));
    if (!got) return arrow::Status::IOError(got.error().message);
    return static_cast<int64_t>(*got);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count) override {
    // Damaged files may request more than their size.
    const auto size = static_cast<int64_t>(bytes_->size());
    const int64_t available = std::clamp<int64_t>(size - position, 0, std::max<int64_t>(count, 0));
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(available));
    ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position, available, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
  arrow::Result<int64_t> Read(int64_t count, void* to) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position_, count, to));
    position_ += got;
    return got;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, count));
    position_ += buffer->size();
    return buffer;
  }

 private:
  const std::unique_ptr<ByteSource> bytes_;
  int64_t position_ = 0;
  bool closed_ = false;
};

using Leaves = std::map<std::string, std::shared_ptr<arrow::Array>>;

// Collects the arrays of a batch by flat name, including members of structs.
void AddLeaves(const arrow::FieldVector& fields, const arrow::ArrayVector& arrays,
               const std::string& prefix, Leaves& leaves) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string name = prefix + fields[i]->name();
    if (arrays[i]->type_id() == arrow::Type::STRUCT) {
      const auto& members = static_cast<const arrow::StructArray&>(*arrays[i]);
      arrow::ArrayVector inner;
      for (int m = 0; m < members.num_fields(); ++m) inner.push_back(members.field(m));
      AddLeaves(fields[i]->type()->fields(), inner, name + "_", leaves);
    } else {
      leaves[name] = arrays[i];
    }
  }
}

// Reads the values of an Arrow array into a column. Dictionary entries are mapped to codes once.
class ColumnReader {
 public:
  ColumnReader(const Column& column, const TableOptions& options)
      : column_(column),
        codes_(CodesOf(column)),
        cents_(options.money == Money::kCents && column.unit == kMoneyUnit) {}

  static constexpr int kUnknown = -1;

  // Returns false if the array has the wrong type for the column.
  bool Begin(const arrow::Array& array) {
    array_ = &array;
    dictionary_.clear();
    if (array.type_id() == arrow::Type::DICTIONARY) {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      if (encoded.dictionary()->type_id() != arrow::Type::STRING) return false;
      const auto& texts = static_cast<const arrow::StringArray&>(*encoded.dictionary());
      for (int64_t i = 0; i < texts.length(); ++i) dictionary_.push_back(CodeOf(texts.GetView(i)));
      return column_.type == ColumnType::kCategory;
    }
    switch (column_.type) {
      case ColumnType::kText:
      case ColumnType::kCategory:
        return array.type_id() == arrow::Type::STRING;
      case ColumnType::kBoolean:
        return array.type_id() == arrow::Type::BOOL;
      case ColumnType::kInteger:
        return array.type_id() == arrow::Type::INT64;
      case ColumnType::kDecimal:
        return array.type_id() == (cents_ ? arrow::Type::INT64 : arrow::Type::DOUBLE) ||
               array.type_id() == arrow::Type::DECIMAL128;
      case ColumnType::kDate:
        return array.type_id() == arrow::Type::DATE32;
      case ColumnType::kTimestamp:
        return array.type_id() == arrow::Type::TIMESTAMP;
    }
    return false;
  }

  // Reads a value that is not null. Returns false if it is invalid for the column.
  bool Put(int64_t at, std::size_t row, ColumnValues& values) const {
    switch (array_->type_id()) {
      case arrow::Type::DICTIONARY: {
        const int64_t index = static_cast<const arrow::DictionaryArray&>(*array_).GetValueIndex(at);
        return PutCode(dictionary_[static_cast<std::size_t>(index)], row, values);
      }
      case arrow::Type::STRING: {
        const auto text = static_cast<const arrow::StringArray&>(*array_).GetView(at);
        if (column_.type == ColumnType::kText) {
          values.AppendText(text);
          return true;
        }
        return PutCode(CodeOf(text), row, values);
      }
      case arrow::Type::BOOL:
        values.flags[row] = static_cast<const arrow::BooleanArray&>(*array_).Value(at) ? 1 : 0;
        return true;
      case arrow::Type::DATE32:
        values.numbers[row] = static_cast<const arrow::Date32Array&>(*array_).Value(at);
        return true;
      case arrow::Type::TIMESTAMP:
        values.numbers[row] = static_cast<const arrow::TimestampArray&>(*array_).Value(at);
        return true;
      case arrow::Type::DECIMAL128: {
        const arrow::Decimal128 value(
            static_cast<const arrow::Decimal128Array&>(*array_).GetValue(at));
        values.numbers[row] = static_cast<int64_t>(value.low_bits());
        return true;
      }
      case arrow::Type::DOUBLE:
        return PutFloat(static_cast<const arrow::DoubleArray&>(*array_).Value(at), row, values);
      default:
        values.numbers[row] = static_cast<const arrow::Int64Array&>(*array_).Value(at);
        return true;
    }
  }

  std::string TextOf(int64_t at) const {
    const auto value = array_->GetScalar(at);
    return value.ok() ? (*value)->ToString() : std::string();
  }

 private:
  static bool PutCode(int code, std::size_t row, ColumnValues& values) {
    values.codes[row] = static_cast<uint16_t>(std::max(code, 0));
    return code != kUnknown;
  }
  int CodeOf(std::string_view text) const {
    const auto found = codes_.find(text);
    return found == codes_.end() ? kUnknown : found->second;
  }

  // Converts to the column's fixed number of places. Returns false if that loses precision.
  bool PutFloat(double value, std::size_t row, ColumnValues& values) const {
    constexpr double kMax = 9e15;
    const double units = value * kPowersOfTen[static_cast<std::size_t>(column_.decimal_places)];
    if (!(std::abs(units) < kMax)) return false;
    values.numbers[row] = std::llround(units);
    const double converted = static_cast<double>(values.numbers[row]) /
                             kPowersOfTen[static_cast<std::size_t>(column_.decimal_places)];
    return converted == value;
  }

  const Column& column_;
  CategoryCodes codes_;
  bool cents_;
  const arrow::Array* array_ = nullptr;
  std::vector<int> dictionary_;
};

class ArrowRows final : public RowSource {
 public:
  // Returns the next batch of the file; null at the end.
  using NextBatch = std::function<arrow::Result<std::shared_ptr<arrow::RecordBatch>>()>;

  ArrowRows(NextBatch next_batch, const TableOptions& options, const Table& table,
            const std::string& file, ReadFaults& faults)
      : next_batch_(std::move(next_batch)), table_(table), file_(file), faults_(faults) {
    for (const Column& column : table.columns) readers_.emplace_back(column, options);
  }

  Result<bool> Next(Batch& batch) override {
    while (now_ == nullptr || at_ == now_->num_rows()) {
      auto next = next_batch_();
      if (!next.ok()) return DamagedFile(file_, next.status());
      now_ = *std::move(next);
      at_ = 0;
      if (now_ == nullptr) return false;
      leaves_.clear();
      AddLeaves(now_->schema()->fields(), now_->columns(), "", leaves_);
    }
    const auto rows =
        static_cast<std::size_t>(std::min<int64_t>(Batch::kMaxRows, now_->num_rows() - at_));
    batch.Begin(rows);
    for (std::size_t i = 0; i < table_.columns.size(); ++i) Read(i, rows, batch);
    Count(rows);
    at_ += static_cast<int64_t>(rows);
    rows_before_ += rows;
    return true;
  }

 private:
  void Read(std::size_t index, std::size_t rows, Batch& batch) {
    const Column& column = table_.columns[index];
    ColumnValues& values = batch.column(index);
    ColumnReader& reader = readers_[index];
    values.present.assign(rows, 1);
    const Position position{.file = file_, .first_row = rows_before_};
    const auto leaf = leaves_.find(FlatName(column));
    const bool there = leaf != leaves_.end();
    const bool readable = there && reader.Begin(*leaf->second);
    if (!there) faults_.columns.AddFailure("{}: {} is missing", file_, column.name);
    if (there && !readable) {
      faults_.values.AddFailure("{}: {} has type {}", file_, column.name,
                                leaf->second->type()->ToString());
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const int64_t at = at_ + static_cast<int64_t>(row);
      const bool null = !readable || leaf->second->IsNull(at);
      if (!null && reader.Put(at, row, values)) continue;
      values.present[row] = 0;
      if (column.type == ColumnType::kText) values.AppendText({});
      if (!readable) continue;
      if (null && column.nullable == Nullable::kNo) {
        faults_.nulls.AddFailure(position, row,
                                 [&] { return fmt::format("{} is null", column.name); });
      } else if (!null) {
        faults_.InvalidIn(column).AddFailure(position, row, [&] {
          return fmt::format("{} is '{}'", column.name, reader.TextOf(at));
        });
      }
    }
  }

  void Count(std::size_t rows) {
    const std::size_t columns = table_.columns.size();
    if (leaves_.size() > columns) {
      faults_.columns.AddFailure("{}: {} columns, expected {}", file_, leaves_.size(), columns);
    }
    faults_.AddChecked(table_, rows);
  }

  NextBatch next_batch_;
  const Table& table_;
  std::string file_;
  ReadFaults& faults_;
  std::vector<ColumnReader> readers_;
  std::shared_ptr<arrow::RecordBatch> now_;
  Leaves leaves_;
  int64_t at_ = 0;
  uint64_t rows_before_ = 0;
};

}  // namespace

Result<std::unique_ptr<RowSource>> OpenArrowRows(std::unique_ptr<ByteSource> bytes,
                                                 const TableOptions& options, const Table& table,
                                                 const std::string& file, ReadFaults& faults) {
  constexpr int64_t kRowsAtOnce = 65'536;
  const auto step = static_cast<int64_t>(bytes->step());
  const auto opened = std::make_shared<SourceFile>(std::move(bytes));
  ArrowRows::NextBatch next_batch;
  if (options.format == Format::kParquet) {
    parquet::arrow::FileReaderBuilder builder;
    // Otherwise whole row groups of each column would be in memory.
    parquet::ReaderProperties properties;
    properties.enable_buffered_stream();
    properties.set_buffer_size(std::max(step, properties.buffer_size()));
    if (auto status = builder.Open(opened, properties); !status.ok()) {
      return DamagedFile(file, status);
    }
    parquet::ArrowReaderProperties arrow_properties;
    arrow_properties.set_batch_size(kRowsAtOnce);
    arrow_properties.set_pre_buffer(false);
    auto built = builder.properties(arrow_properties)->Build();
    if (!built.ok()) return DamagedFile(file, built.status());
    const std::shared_ptr<parquet::arrow::FileReader> reader = *std::move(built);
    auto batches = reader->GetRecordBatchReader();
    if (!batches.ok()) return DamagedFile(file, batches.status());
    next_batch = [reader, batches = std::shared_ptr(*std::move(batches))] {
      return batches->Next();
    };
  } else {
    const auto reader = arrow::ipc::RecordBatchFileReader::Open(opened);
    if (!reader.ok()) return DamagedFile(file, reader.status());
    next_batch = [ipc = *reader, index = 0]() mutable {
      return index == ipc->num_record_batches() ? nullptr : ipc->ReadRecordBatch(index++);
    };
  }
  return std::make_unique<ArrowRows>(std::move(next_batch), options, table, file, faults);
}

}  // namespace reveza::fraudgen::check

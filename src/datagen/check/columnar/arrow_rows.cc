#include "datagen/check/arrow_rows.h"

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
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "datagen/check/cells.h"

namespace reveza::datagen::check {
namespace {

constexpr std::string_view kMoneyUnit = "BRL";
constexpr std::array<double, 10> kPowersOfTen = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

std::unexpected<Error> Wrong(const std::string& file, const arrow::Status& status) {
  return Fail(Error::Code::kInvalidArgument, fmt::format("{}: {}", file, status.message()));
}

// A ByteSource as Arrow wants to read from it.
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
    if (position < 0 || count < 0) return arrow::Status::Invalid("it asks for bytes before it");
    const auto got =
        bytes_->ReadAt(static_cast<uint64_t>(position),
                       std::span(static_cast<char*>(to), static_cast<std::size_t>(count)));
    if (!got) return arrow::Status::IOError(got.error().message);
    return static_cast<int64_t>(*got);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count) override {
    // A file that is damaged may ask for more than there is.
    const auto size = static_cast<int64_t>(bytes_->size());
    const int64_t most = std::clamp<int64_t>(size - position, 0, std::max<int64_t>(count, 0));
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(most));
    ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position, most, buffer->mutable_data()));
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

// The arrays of a batch by flat name, members of structs included.
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

// Reads the values of one Arrow array into a column. The code of an entry of a dictionary is looked
// up once.
class ColumnReader {
 public:
  ColumnReader(const Column& column, const TableOptions& options)
      : column_(column),
        codes_(CodesOf(column)),
        cents_(options.money == Money::kCents && column.unit == kMoneyUnit) {}

  static constexpr int kUnknown = -1;

  // False where the array's type is not one that such a column has.
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

  // Of a value that is no null. False where the column cannot hold it.
  bool Put(int64_t at, std::size_t row, ColumnValues& values) const {
    switch (array_->type_id()) {
      case arrow::Type::DICTIONARY: {
        const int64_t index = static_cast<const arrow::DictionaryArray&>(*array_).GetValueIndex(at);
        const int code = dictionary_[static_cast<std::size_t>(index)];
        values.codes[row] = static_cast<uint16_t>(std::max(code, 0));
        return code != kUnknown;
      }
      case arrow::Type::STRING: {
        const auto text = static_cast<const arrow::StringArray&>(*array_).GetView(at);
        if (column_.type == ColumnType::kText) {
          values.AppendText(text);
          return true;
        }
        const int code = CodeOf(text);
        values.codes[row] = static_cast<uint16_t>(std::max(code, 0));
        return code != kUnknown;
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
  int CodeOf(std::string_view text) const {
    const auto found = codes_.find(text);
    return found == codes_.end() ? kUnknown : found->second;
  }

  // The number that it stands for has a fixed count of places.
  bool PutFloat(double value, std::size_t row, ColumnValues& values) const {
    constexpr double kMost = 9e15;
    const double units = value * kPowersOfTen[static_cast<std::size_t>(column_.decimal_places)];
    if (!(std::abs(units) < kMost)) return false;
    values.numbers[row] = std::llround(units);
    const double again = static_cast<double>(values.numbers[row]) /
                         kPowersOfTen[static_cast<std::size_t>(column_.decimal_places)];
    return again == value;
  }

  const Column& column_;
  CategoryCodes codes_;
  bool cents_;
  const arrow::Array* array_ = nullptr;
  std::vector<int> dictionary_;
};

class ArrowRows final : public RowSource {
 public:
  // One of the two readers.
  ArrowRows(std::unique_ptr<parquet::arrow::FileReader> parquet,
            std::shared_ptr<arrow::ipc::RecordBatchFileReader> ipc, const TableOptions& options,
            const Table& table, const std::string& file, ReadFaults& faults)
      : parquet_(std::move(parquet)),
        ipc_(std::move(ipc)),
        table_(table),
        file_(file),
        faults_(faults) {
    for (const Column& column : table.columns) readers_.emplace_back(column, options);
  }

  Status Begin() {
    if (parquet_ == nullptr) return {};
    auto batches = parquet_->GetRecordBatchReader();
    if (!batches.ok()) return Wrong(file_, batches.status());
    batches_ = *std::move(batches);
    return {};
  }

  Result<bool> Next(Batch& batch) override {
    while (now_ == nullptr || at_ == now_->num_rows()) {
      auto next = NextFromFile();
      if (!next.ok()) return Wrong(file_, next.status());
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
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> NextFromFile() {
    if (batches_ != nullptr) return batches_->Next();
    if (next_batch_ == ipc_->num_record_batches()) return nullptr;
    return ipc_->ReadRecordBatch(next_batch_++);
  }

  void Read(std::size_t index, std::size_t rows, Batch& batch) {
    const Column& column = table_.columns[index];
    ColumnValues& values = batch.column(index);
    ColumnReader& reader = readers_[index];
    values.present.assign(rows, 1);
    const Position position{.file = file_, .first_row = rows_before_};
    const auto leaf = leaves_.find(FlatName(column));
    const bool there = leaf != leaves_.end();
    const bool readable = there && reader.Begin(*leaf->second);
    if (!there) faults_.columns.Bad(fmt::format("{}: no {}", file_, column.name));
    if (there && !readable) {
      faults_.values.Bad(
          fmt::format("{}: {} is {}", file_, column.name, leaf->second->type()->ToString()));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const int64_t at = at_ + static_cast<int64_t>(row);
      const bool null = !readable || leaf->second->IsNull(at);
      if (!null && reader.Put(at, row, values)) continue;
      values.present[row] = 0;
      if (column.type == ColumnType::kText) values.AppendText({});
      if (!readable) continue;
      if (null && column.nullable == Nullable::kNo) {
        faults_.nulls.Bad(position, row, [&] { return fmt::format("{} is null", column.name); });
      } else if (!null) {
        (column.type == ColumnType::kCategory ? faults_.categories : faults_.values)
            .Bad(position, row,
                 [&] { return fmt::format("{} is '{}'", column.name, reader.TextOf(at)); });
      }
    }
  }

  void Count(std::size_t rows) {
    const std::size_t columns = table_.columns.size();
    if (leaves_.size() > columns) {
      faults_.columns.Bad(
          fmt::format("{}: {} columns, {} are known", file_, leaves_.size(), columns));
    }
    faults_.columns.Look(rows);
    faults_.nulls.Look(rows * columns);
    faults_.values.Look(rows * columns);
    faults_.categories.Look(rows * static_cast<uint64_t>(std::ranges::count(
                                       table_.columns, ColumnType::kCategory, &Column::type)));
  }

  std::unique_ptr<parquet::arrow::FileReader> parquet_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> ipc_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  const Table& table_;
  std::string file_;
  ReadFaults& faults_;
  std::vector<ColumnReader> readers_;
  std::shared_ptr<arrow::RecordBatch> now_;
  Leaves leaves_;
  int64_t at_ = 0;
  int next_batch_ = 0;
  uint64_t rows_before_ = 0;
};

}  // namespace

Result<std::unique_ptr<RowSource>> OpenArrowRows(std::unique_ptr<ByteSource> bytes,
                                                 const TableOptions& options, const Table& table,
                                                 const std::string& file, ReadFaults& faults) {
  constexpr int64_t kRowsAtOnce = 65'536;
  const auto step = static_cast<int64_t>(bytes->step());
  const auto opened = std::make_shared<SourceFile>(std::move(bytes));
  std::unique_ptr<parquet::arrow::FileReader> parquet_reader;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> ipc;
  if (options.format == Format::kParquet) {
    parquet::arrow::FileReaderBuilder builder;
    // Without a buffer a whole row group of each column would be in memory.
    parquet::ReaderProperties properties;
    properties.enable_buffered_stream();
    properties.set_buffer_size(std::max(step, properties.buffer_size()));
    if (auto status = builder.Open(opened, properties); !status.ok()) return Wrong(file, status);
    parquet::ArrowReaderProperties arrow_properties;
    arrow_properties.set_batch_size(kRowsAtOnce);
    arrow_properties.set_pre_buffer(false);
    auto built = builder.properties(arrow_properties)->Build();
    if (!built.ok()) return Wrong(file, built.status());
    parquet_reader = *std::move(built);
  } else {
    auto reader = arrow::ipc::RecordBatchFileReader::Open(opened);
    if (!reader.ok()) return Wrong(file, reader.status());
    ipc = *std::move(reader);
  }
  auto rows = std::make_unique<ArrowRows>(std::move(parquet_reader), std::move(ipc), options, table,
                                          file, faults);
  if (auto begun = rows->Begin(); !begun) return std::unexpected(std::move(begun).error());
  return rows;
}

}  // namespace reveza::datagen::check

// Compares Parquet and Arrow files value by value, as columns that Arrow decodes.
#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/table/arrow_status.h"
#include "fraudgen/check/differences.h"
#include "fraudgen/output/columnar/arrow_columns.h"

namespace reveza::fraudgen::check {
namespace {

constexpr std::size_t kComparedRows = 65'536;

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

// Returns the next rows of a file; null at its end.
using NextBatch = std::function<arrow::Result<std::shared_ptr<arrow::RecordBatch>>()>;

arrow::Result<NextBatch> OpenParquet(const std::shared_ptr<SourceFile>& file, std::size_t step) {
  parquet::arrow::FileReaderBuilder builder;
  // Otherwise whole row groups of each column would be in memory.
  parquet::ReaderProperties properties;
  properties.enable_buffered_stream();
  properties.set_buffer_size(std::max(static_cast<int64_t>(step), properties.buffer_size()));
  ARROW_RETURN_NOT_OK(builder.Open(file, properties));
  parquet::ArrowReaderProperties arrow_properties;
  arrow_properties.set_batch_size(kComparedRows);
  arrow_properties.set_pre_buffer(false);
  ARROW_ASSIGN_OR_RAISE(auto built, builder.properties(arrow_properties)->Build());
  const std::shared_ptr<parquet::arrow::FileReader> reader = std::move(built);
  ARROW_ASSIGN_OR_RAISE(auto batches, reader->GetRecordBatchReader());
  return [reader, batches = std::shared_ptr(std::move(batches))] { return batches->Next(); };
}

arrow::Result<NextBatch> OpenIpc(const std::shared_ptr<SourceFile>& file) {
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(file));
  return [reader, index = 0]() mutable -> arrow::Result<std::shared_ptr<arrow::RecordBatch>> {
    if (index == reader->num_record_batches()) return nullptr;
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->ReadRecordBatch(index++));
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    return batch;
  };
}

// Returns the texts of a dictionary array, so that the order of dictionaries does not matter.
arrow::Result<std::shared_ptr<arrow::Array>> WithoutDictionary(
    const std::shared_ptr<arrow::Array>& array) {
  if (array->type_id() != arrow::Type::DICTIONARY) return array;
  const auto& encoded = static_cast<const arrow::DictionaryArray&>(*array);
  if (encoded.dictionary()->type_id() != arrow::Type::STRING) return array;
  const auto& texts = static_cast<const arrow::StringArray&>(*encoded.dictionary());
  arrow::StringBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(encoded.length()));
  for (int64_t i = 0; i < encoded.length(); ++i) {
    if (encoded.IsNull(i)) {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
    } else {
      ARROW_RETURN_NOT_OK(builder.Append(texts.GetView(encoded.GetValueIndex(i))));
    }
  }
  return builder.Finish();
}

std::string TextAt(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "null";
  const auto value = array.GetScalar(row);
  return value.ok() ? (*value)->ToString() : value.status().message();
}

class ArrowComparison final : public TableWriter {
 public:
  ArrowComparison(const TableOptions& options, const Table& table, FileDifferences& differences)
      : layout_(options, table), columns_(layout_, kComparedRows), differences_(differences) {}

  void Open(Format format, std::unique_ptr<ByteSource> stored) {
    const std::size_t step = stored->step();
    const auto file = std::make_shared<SourceFile>(std::move(stored));
    Guard([&]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(next_batch_,
                            format == Format::kParquet ? OpenParquet(file, step) : OpenIpc(file));
      return arrow::Status::OK();
    });
  }

  Status Write(const Batch& batch) override {
    for (std::size_t first = 0; first < batch.rows();) {
      const std::size_t count = std::min(batch.rows() - first, kComparedRows - columns_.rows());
      columns_.Append(batch, first, count);
      first += count;
      if (columns_.rows() == kComparedRows) Flush();
    }
    return {};
  }

  Status Finish() override {
    if (columns_.rows() > 0) Flush();
    Guard([&]() -> arrow::Status {
      while (ReadIfNeeded()) {
        row_ += static_cast<uint64_t>(found_->num_rows() - at_);
        at_ = found_->num_rows();
      }
      if (broken_ || row_ == expected_rows_) return arrow::Status::OK();
      differences_.Add({.row = 0,
                        .column = "",
                        .found = fmt::format("{} rows", row_),
                        .expected = fmt::format("{}", expected_rows_)});
      return arrow::Status::OK();
    });
    return {};
  }

 private:
  struct Pair {
    std::string name;
    std::shared_ptr<arrow::Array> found;
    std::shared_ptr<arrow::Array> expected;
  };

  // A damaged file is a difference; its other rows are not compared.
  void Guard(const std::function<arrow::Status()>& call) {
    if (broken_) return;
    const arrow::Status status = CatchArrow(call);
    if (status.ok()) return;
    broken_ = true;
    differences_.Add({.row = 0, .column = "", .found = status.message(), .expected = ""});
  }

  // Returns false at the end of the file.
  bool ReadIfNeeded() {
    while (!broken_ && (found_ == nullptr || at_ == found_->num_rows())) {
      Guard([&]() -> arrow::Status {
        ARROW_ASSIGN_OR_RAISE(found_, next_batch_());
        return arrow::Status::OK();
      });
      at_ = 0;
      if (found_ == nullptr) return false;
    }
    return !broken_;
  }

  void Flush() {
    const auto expected = columns_.Finish();
    expected_rows_ += columns_.rows();
    Guard([&]() -> arrow::Status {
      int64_t done = 0;
      while (done < expected->num_rows() && ReadIfNeeded()) {
        const int64_t count = std::min(expected->num_rows() - done, found_->num_rows() - at_);
        ARROW_RETURN_NOT_OK(Compare(*found_->Slice(at_, count), *expected->Slice(done, count)));
        at_ += count;
        done += count;
        row_ += static_cast<uint64_t>(count);
      }
      return arrow::Status::OK();
    });
    columns_.Clear();
  }

  arrow::Status Compare(const arrow::RecordBatch& found, const arrow::RecordBatch& expected) {
    Leaves left;
    Leaves right;
    AddLeaves(found.schema()->fields(), found.columns(), "", left);
    AddLeaves(expected.schema()->fields(), expected.columns(), "", right);
    std::vector<Pair> different;
    for (const auto& [name, array] : right) {
      const auto stored = left.find(name);
      if (stored == left.end()) {
        AddColumn(name, "", array->type()->ToString());
        continue;
      }
      Pair pair{.name = name, .found = nullptr, .expected = nullptr};
      ARROW_ASSIGN_OR_RAISE(pair.found, WithoutDictionary(stored->second));
      ARROW_ASSIGN_OR_RAISE(pair.expected, WithoutDictionary(array));
      if (!pair.found->type()->Equals(*pair.expected->type())) {
        AddColumn(name, pair.found->type()->ToString(), pair.expected->type()->ToString());
      } else if (!pair.found->Equals(*pair.expected)) {
        different.push_back(std::move(pair));
      }
    }
    AddValues(different, found.num_rows());
    for (const auto& [name, array] : left) {
      if (!right.contains(name)) AddColumn(name, array->type()->ToString(), "");
    }
    return arrow::Status::OK();
  }

  // Once per file.
  void AddColumn(const std::string& name, const std::string& found, const std::string& expected) {
    if (row_ > 0) return;
    differences_.Add({.row = 0, .column = name, .found = found, .expected = expected});
  }

  void AddValues(const std::vector<Pair>& different, int64_t rows) {
    if (different.empty()) return;
    for (int64_t row = 0; row < rows; ++row) {
      for (const auto& [name, found, expected] : different) {
        if (found->RangeEquals(*expected, row, row + 1, row)) continue;
        differences_.Add({.row = row_ + static_cast<uint64_t>(row) + 1,
                          .column = name,
                          .found = TextAt(*found, row),
                          .expected = TextAt(*expected, row)});
      }
    }
  }

  ArrowLayout layout_;
  ArrowColumns columns_;
  FileDifferences& differences_;
  NextBatch next_batch_;
  std::shared_ptr<arrow::RecordBatch> found_;
  int64_t at_ = 0;    // in `found_`
  uint64_t row_ = 0;  // compared so far
  uint64_t expected_rows_ = 0;
  bool broken_ = false;
};

}  // namespace

Result<std::unique_ptr<TableWriter>> CompareArrowRows(const TableOptions& options,
                                                      const Table& table,
                                                      std::unique_ptr<ByteSource> stored,
                                                      FileDifferences& differences) {
  // The layout of Arrow files has all columns, that of Parquet not those with a dictionary.
  TableOptions all = options;
  all.format = Format::kArrow;
  auto comparison = std::make_unique<ArrowComparison>(all, table, differences);
  comparison->Open(options.format, std::move(stored));
  return comparison;
}

}  // namespace reveza::fraudgen::check

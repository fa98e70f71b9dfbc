#include "phi/output/columnar/parquet_rows.h"

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>

#include <cmath>
#include <utility>

#include "common/base/read_file.h"
#include "common/platform/output_file.h"
#include "common/table/arrow_status.h"

namespace reveza::phi {
namespace {

std::filesystem::path PartOf(const std::filesystem::path& folder, std::uint64_t number) {
  return folder / fmt::format("part-{:06}.parquet", number);
}

class ParquetRows final : public RowWriter {
 public:
  ParquetRows(std::filesystem::path folder, const RowLayout& layout, const RowPosition& place)
      : folder_(std::move(folder)), layout_(layout), place_(place) {
    arrow::FieldVector fields = {arrow::field("run", arrow::uint32(), false),
                                 arrow::field("cycle", arrow::uint64(), false),
                                 arrow::field("hash", arrow::uint64(), false)};
    for (const std::string& name : layout.states) {
      fields.push_back(arrow::field(name, arrow::float32(), false));
    }
    for (const std::string& name : layout.measures) {
      fields.push_back(arrow::field(name, arrow::float64(), true));
    }
    schema_ = arrow::schema(fields);
  }

  Status Append(const RowBlock& rows) override {
    const auto add = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    add(waiting_.run, rows.run);
    add(waiting_.cycle, rows.cycle);
    add(waiting_.hash, rows.hash);
    add(waiting_.states, rows.states);
    add(waiting_.measures, rows.measures);
    return {};
  }

  Result<RowPosition> Sync() override {
    if (waiting_.run.empty()) return place_;
    std::shared_ptr<arrow::Buffer> bytes;
    if (const auto status = CatchArrow([&] { return Encode(bytes); }); !status.ok()) {
      return Fail(Error::Code::kInternal, "cannot encode rows as Parquet: " + status.ToString());
    }
    ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(PartOf(folder_, place_.parts)));
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()),
                                static_cast<std::size_t>(bytes->size()));
    RETURN_IF_ERROR(file.Append(text));
    RETURN_IF_ERROR(file.Finish());
    ++place_.parts;
    place_.rows += waiting_.run.size();
    waiting_.Clear();
    return place_;
  }

 private:
  template <class Builder, class Value>
  static arrow::Result<std::shared_ptr<arrow::Array>> Column(const std::vector<Value>& values,
                                                             std::size_t width, std::size_t which) {
    Builder builder;
    for (std::size_t i = which; i < values.size(); i += width) {
      if (std::isnan(static_cast<double>(values[i]))) {
        ARROW_RETURN_NOT_OK(builder.AppendNull());
      } else {
        ARROW_RETURN_NOT_OK(builder.Append(values[i]));
      }
    }
    return builder.Finish();
  }

  arrow::Status Encode(std::shared_ptr<arrow::Buffer>& bytes) const {
    arrow::ArrayVector columns;
    ARROW_ASSIGN_OR_RAISE(auto run, (Column<arrow::UInt32Builder>(waiting_.run, 1, 0)));
    ARROW_ASSIGN_OR_RAISE(auto cycle, (Column<arrow::UInt64Builder>(waiting_.cycle, 1, 0)));
    ARROW_ASSIGN_OR_RAISE(auto hash, (Column<arrow::UInt64Builder>(waiting_.hash, 1, 0)));
    columns = {run, cycle, hash};
    for (std::size_t k = 0; k < layout_.states.size(); ++k) {
      ARROW_ASSIGN_OR_RAISE(
          auto column, (Column<arrow::FloatBuilder>(waiting_.states, layout_.states.size(), k)));
      columns.push_back(column);
    }
    for (std::size_t k = 0; k < layout_.measures.size(); ++k) {
      ARROW_ASSIGN_OR_RAISE(auto column, (Column<arrow::DoubleBuilder>(
                                             waiting_.measures, layout_.measures.size(), k)));
      columns.push_back(column);
    }
    const auto rows = static_cast<std::int64_t>(waiting_.run.size());
    const auto table = arrow::Table::Make(schema_, columns, rows);
    ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create());
    const auto properties =
        parquet::WriterProperties::Builder().compression(parquet::Compression::ZSTD)->build();
    ARROW_RETURN_NOT_OK(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink,
                                                   std::max<std::int64_t>(rows, 1), properties));
    ARROW_ASSIGN_OR_RAISE(bytes, sink->Finish());
    return arrow::Status::OK();
  }

  std::filesystem::path folder_;
  RowLayout layout_;
  RowPosition place_;
  std::shared_ptr<arrow::Schema> schema_;
  RowBlock waiting_;
};

}  // namespace

Result<std::unique_ptr<RowWriter>> OpenParquetRows(const std::filesystem::path& parts,
                                                   const RowLayout& layout,
                                                   const RowPosition& place) {
  std::error_code error;
  std::filesystem::create_directories(parts, error);
  for (std::uint64_t i = 0; i < place.parts; ++i) {
    ASSIGN_OR_RETURN(const auto is_there, FileExists(PartOf(parts, i)));
    if (is_there) continue;
    return Fail(Error::Code::kIncompatible,
                "{} is missing, but its checkpoint records it; start over with --fresh",
                PartOf(parts, i).string());
  }
  // Remove parts after the synced ones, complete or left half-written by a killed process.
  for (std::uint64_t i = place.parts;; ++i) {
    const bool abandoned = platform::RemoveAbandoned(PartOf(parts, i)) > 0;
    if (!std::filesystem::remove(PartOf(parts, i), error) && !abandoned) break;
  }
  if (error) {
    return Fail(Error::Code::kPermission, "cannot write to {}: {}", parts.string(),
                error.message());
  }
  return std::make_unique<ParquetRows>(parts, layout, place);
}

}  // namespace reveza::phi

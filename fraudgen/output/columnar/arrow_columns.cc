#include "fraudgen/output/columnar/arrow_columns.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include <span>
#include <utility>

#include "fraudgen/output/columnar/arrow_buffers.h"

namespace reveza::fraudgen {
namespace {

// Combines members of structs into struct arrays, as in ArrowLayout.
std::vector<std::shared_ptr<arrow::Array>> NestArrays(
    const arrow::FieldVector& fields, std::span<const std::shared_ptr<arrow::Array>>& leaves) {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& field : fields) {
    if (field->type()->id() != arrow::Type::STRUCT) {
      arrays.push_back(leaves.front());
      leaves = leaves.subspan(1);
      continue;
    }
    const int64_t rows = leaves.front()->length();
    auto members = NestArrays(field->type()->fields(), leaves);
    arrays.push_back(std::make_shared<arrow::StructArray>(field->type(), rows, std::move(members)));
  }
  return arrays;
}

}  // namespace

ArrowColumns::ArrowColumns(const ArrowLayout& layout, std::size_t max_rows)
    : layout_(layout), buffers_(layout.columns.size()) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const ArrowColumn& column = layout.columns[i];
    buffers_[i].Reserve(*column.column, column.form, max_rows);
  }
}

void ArrowColumns::Clear() {
  rows_ = 0;
  for (ColumnBuffers& buffers : buffers_) buffers.Clear();
}

void ArrowColumns::Append(const Batch& batch, std::size_t first, std::size_t count) {
  if (count == 0) return;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const ArrowColumn& column = layout_.columns[i];
    buffers_[i].Append(*column.column, column.form, batch.column(column.index), first, count);
  }
  rows_ += count;
}

std::shared_ptr<arrow::Array> ArrowColumns::MakeArray(std::size_t index) {
  const ArrowColumn& column = layout_.columns[index];
  ColumnBuffers& buffers = buffers_[index];
  const int64_t nulls = buffers.Finish(*column.column, column.form, rows_);
  arrow::BufferVector memory = {nulls > 0 ? WrapVector(buffers.present_bits) : nullptr};
  if (column.form == ColumnForm::kFlags) {
    memory.push_back(WrapVector(buffers.flag_bits));
  } else {
    buffers.Visit(column.form, [&](auto& values) { memory.push_back(WrapVector(values)); });
  }
  if (column.form == ColumnForm::kText) {
    memory.push_back(std::make_shared<arrow::Buffer>(std::string_view(buffers.bytes)));
  }
  auto data =
      arrow::ArrayData::Make(column.type, static_cast<int64_t>(rows_), std::move(memory), nulls);
  if (column.dictionary != nullptr) data->dictionary = column.dictionary->data();
  return arrow::MakeArray(data);
}

std::shared_ptr<arrow::RecordBatch> ArrowColumns::Finish() {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (std::size_t i = 0; i < buffers_.size(); ++i) arrays.push_back(MakeArray(i));
  if (layout_.nested) {
    std::span<const std::shared_ptr<arrow::Array>> leaves = arrays;
    arrays = NestArrays(layout_.schema->fields(), leaves);
  }
  return arrow::RecordBatch::Make(layout_.schema, static_cast<int64_t>(rows_), std::move(arrays));
}

}  // namespace reveza::fraudgen

#include "fraudgen/output/columnar/arrow_columns.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "fraudgen/output/columnar/arrow_buffers.h"
#include "fraudgen/values/simd_width.h"

namespace reveza::fraudgen {
namespace {

using Values = ArrowColumn::Values;

// Converts to the nearest double, as parsing 12.50 would: below 2^53 both operands are exact, and
// the quotient is rounded once.
[[gnu::always_inline]] inline void DivideLoop(const int64_t* const numbers, const double units,
                                              double* const to, const std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<double>(numbers[i]) / units;
}

#if defined(__x86_64__)
[[gnu::target("avx512dq,avx512vl")]] void DivideByEight(const int64_t* numbers, double units,
                                                        double* to, std::size_t count) {
  DivideLoop(numbers, units, to, count);
}
#endif

void Divide(std::span<const int64_t> numbers, double units, double* to) {
#if defined(__x86_64__)
  if (DetectSimdWidth() == SimdWidth::kEight) {
    return DivideByEight(numbers.data(), units, to, numbers.size());
  }
#endif
  DivideLoop(numbers.data(), units, to, numbers.size());
}

template <typename T>
void ClearNulls(const std::vector<uint8_t>& present, std::span<T> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = present[i] != 0 ? values[i] : T{};
  }
}

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
    if (column.grouped) continue;
    Buffers& buffers = buffers_[i];
    const std::size_t room = max_rows + 8;  // PackBits() writes whole bytes of bits
    if (column.column->nullable == Nullable::kYes) buffers.present.reserve(room);
    buffers.Visit(column.values, [&](auto& values) {
      values.reserve(column.values == Values::kDecimal128 ? 2 * room : room);
    });
  }
  Clear();
}

void ArrowColumns::Clear() {
  rows_ = 0;
  for (Buffers& buffers : buffers_) {
    buffers.present.clear();
    buffers.levels.clear();
    buffers.flags.clear();
    buffers.codes.clear();
    buffers.whole.clear();
    buffers.days.clear();
    buffers.floats.clear();
    buffers.offsets.assign(1, 0);
    buffers.bytes.clear();
  }
}

void ArrowColumns::AppendText(Buffers& buffers, const ColumnValues& values, std::size_t first,
                              std::size_t count) {
  const int32_t begin = first == 0 ? 0 : values.ends[first - 1];
  const int32_t moved = static_cast<int32_t>(buffers.bytes.size()) - begin;
  const std::size_t before = buffers.offsets.size();
  buffers.offsets.resize(before + count);
  for (std::size_t i = 0; i < count; ++i) {
    buffers.offsets[before + i] = values.ends[first + i] + moved;
  }
  buffers.bytes.append(values.bytes, static_cast<std::size_t>(begin),
                       static_cast<std::size_t>(values.ends[first + count - 1] - begin));
}

void ArrowColumns::AppendNumbers(const ArrowColumn& column, Buffers& buffers,
                                 const ColumnValues& values, std::size_t first, std::size_t count) {
  const std::span<const int64_t> numbers(values.numbers.data() + first, count);
  switch (column.values) {
    case Values::kWhole:
      buffers.whole.insert(buffers.whole.end(), numbers.begin(), numbers.end());
      break;
    case Values::kDecimal128:
      for (const int64_t number : numbers) {
        buffers.whole.push_back(number);
        buffers.whole.push_back(number < 0 ? -1 : 0);
      }
      break;
    case Values::kDays:
      for (const int64_t number : numbers) buffers.days.push_back(static_cast<int32_t>(number));
      break;
    default: {
      const auto units = static_cast<double>(
          kPowersOfTen[static_cast<std::size_t>(column.column->decimal_places)]);
      const std::size_t before = buffers.floats.size();
      buffers.floats.resize(before + count);
      Divide(numbers, units, buffers.floats.data() + before);
      break;
    }
  }
}

void ArrowColumns::Append(const Batch& batch, std::size_t first, std::size_t count) {
  if (count == 0) return;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const ArrowColumn& column = layout_.columns[i];
    if (column.grouped) continue;
    const ColumnValues& values = batch.column(column.index);
    Buffers& buffers = buffers_[i];
    const auto range = [&](const auto& all) { return std::span(all.data() + first, count); };
    if (column.column->nullable == Nullable::kYes) {
      const auto present = range(values.present);
      buffers.present.insert(buffers.present.end(), present.begin(), present.end());
    }
    if (column.values == Values::kText) {
      AppendText(buffers, values, first, count);
    } else if (column.values == Values::kCodes) {
      const auto codes = range(values.codes);
      buffers.codes.insert(buffers.codes.end(), codes.begin(), codes.end());
    } else if (column.values == Values::kFlags) {
      const auto flags = range(values.flags);
      buffers.flags.insert(buffers.flags.end(), flags.begin(), flags.end());
    } else {
      AppendNumbers(column, buffers, values, first, count);
    }
  }
  rows_ += count;
}

std::shared_ptr<arrow::Array> ArrowColumns::FinishColumn(const ArrowColumn& column,
                                                         Buffers& buffers) const {
  const auto rows = static_cast<int64_t>(rows_);
  std::shared_ptr<arrow::Buffer> bits;
  int64_t nulls = 0;
  if (column.column->nullable == Nullable::kYes) {
    const std::vector<uint8_t>& present = buffers.present;
    if (column.values == Values::kDecimal128) {
      for (std::size_t i = 0; i < rows_; ++i) {
        if (present[i] == 0) buffers.whole[2 * i] = buffers.whole[2 * i + 1] = 0;
      }
    } else if (column.values != Values::kText) {  // texts are empty
      buffers.Visit(column.values, [&](auto& values) { ClearNulls(present, std::span(values)); });
    }
    if (layout_.levels) buffers.levels.assign(present.begin(), present.end());
    nulls = PackBits(buffers.present, rows_, buffers.present_bits);
    if (nulls > 0) bits = WrapVector(buffers.present_bits);
  }
  arrow::BufferVector memory = {bits};
  if (column.values == Values::kFlags) {
    PackBits(buffers.flags, rows_, buffers.flag_bits);
    memory.push_back(WrapVector(buffers.flag_bits));
  } else {
    buffers.Visit(column.values, [&](auto& values) { memory.push_back(WrapVector(values)); });
  }
  if (column.values == Values::kText) {
    memory.push_back(std::make_shared<arrow::Buffer>(std::string_view(buffers.bytes)));
  }
  auto data = arrow::ArrayData::Make(column.type, rows, std::move(memory), nulls);
  if (column.dictionary != nullptr) data->dictionary = column.dictionary->data();
  return arrow::MakeArray(data);
}

std::shared_ptr<arrow::Array> ArrowColumns::FinishColumn(std::size_t index) {
  assert(!layout_.columns[index].grouped);
  return FinishColumn(layout_.columns[index], buffers_[index]);
}

std::shared_ptr<arrow::RecordBatch> ArrowColumns::Finish() {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (std::size_t i = 0; i < buffers_.size(); ++i) arrays.push_back(FinishColumn(i));
  if (layout_.nested) {
    std::span<const std::shared_ptr<arrow::Array>> leaves = arrays;
    arrays = NestArrays(layout_.schema->fields(), leaves);
  }
  return arrow::RecordBatch::Make(layout_.schema, static_cast<int64_t>(rows_), std::move(arrays));
}

}  // namespace reveza::fraudgen

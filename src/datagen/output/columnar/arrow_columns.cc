#include "datagen/output/columnar/arrow_columns.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "datagen/vectors.h"

namespace reveza::datagen {
namespace {

using Values = ArrowColumn::Values;

constexpr std::array<int64_t, 19> kPowersOfTen = [] {
  std::array<int64_t, 19> powers{};
  int64_t power = 1;
  for (int64_t& entry : powers) {
    entry = power;
    power *= power < std::numeric_limits<int64_t>::max() / 10 ? 10 : 1;
  }
  return powers;
}();

// Bytes that are 0 or 1 as bits, the first in the lowest. Returns how many are 0.
int64_t Pack(std::vector<uint8_t>& bytes, std::size_t rows, std::vector<uint8_t>& bits) {
  bytes.resize((rows + 7) / 8 * 8);  // zeros at the end
  bits.resize(bytes.size() / 8);
  const auto ones = std::ranges::count(bytes, uint8_t{1});
  for (std::size_t i = 0; i < bits.size(); ++i) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes.data() + 8 * i, sizeof eight);
    // Each bit of the product's highest byte is one of the eight, without a carry.
    bits[i] = static_cast<uint8_t>((eight * 0x0102'0408'1020'4080u) >> 56);
  }
  return static_cast<int64_t>(rows) - ones;
}

template <typename T>
std::shared_ptr<arrow::Buffer> Wrap(const std::vector<T>& values) {
  return std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(values.data()),
                                         static_cast<int64_t>(values.size() * sizeof(T)));
}

// The nearest number there is to each, as a reader of 12.50 has it: below 2^53 both are exact, and
// their quotient is rounded once, whichever way it is computed.
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
  if (VectorsOfProcessor() == Vectors::kEight) {
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

// The members that stand side by side become structs again, as ArrowLayout has them.
std::vector<std::shared_ptr<arrow::Array>> Nest(
    const arrow::FieldVector& fields, std::span<const std::shared_ptr<arrow::Array>>& leaves) {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& field : fields) {
    if (field->type()->id() != arrow::Type::STRUCT) {
      arrays.push_back(leaves.front());
      leaves = leaves.subspan(1);
      continue;
    }
    const int64_t rows = leaves.front()->length();
    auto members = Nest(field->type()->fields(), leaves);
    arrays.push_back(std::make_shared<arrow::StructArray>(field->type(), rows, std::move(members)));
  }
  return arrays;
}

}  // namespace

ArrowColumns::ArrowColumns(const ArrowLayout& layout, std::size_t most_rows)
    : layout_(layout), gathered_(layout.columns.size()) {
  for (std::size_t i = 0; i < gathered_.size(); ++i) {
    const ArrowColumn& column = layout.columns[i];
    Gathered& gathered = gathered_[i];
    const std::size_t room = most_rows + 8;  // Pack fills up to whole bytes of bits
    if (column.column->nullable == Nullable::kYes) gathered.present.reserve(room);
    switch (column.values) {
      case Values::kText:
        gathered.offsets.reserve(room);
        break;
      case Values::kCodes:
        gathered.codes.reserve(room);
        break;
      case Values::kFlags:
        gathered.flags.reserve(room);
        break;
      case Values::kWhole:
        gathered.whole.reserve(room);
        break;
      case Values::kDecimal128:
        gathered.whole.reserve(2 * room);
        break;
      case Values::kFloat:
        gathered.floats.reserve(room);
        break;
      case Values::kDays:
        gathered.days.reserve(room);
        break;
    }
  }
  Clear();
}

void ArrowColumns::Clear() {
  rows_ = 0;
  for (Gathered& gathered : gathered_) {
    gathered.present.clear();
    gathered.flags.clear();
    gathered.codes.clear();
    gathered.whole.clear();
    gathered.days.clear();
    gathered.floats.clear();
    gathered.offsets.assign(1, 0);
    gathered.bytes.clear();
  }
}

void ArrowColumns::AppendText(Gathered& gathered, const ColumnValues& values, std::size_t first,
                              std::size_t count) {
  const int32_t begin = first == 0 ? 0 : values.ends[first - 1];
  const int32_t moved = static_cast<int32_t>(gathered.bytes.size()) - begin;
  const std::size_t before = gathered.offsets.size();
  gathered.offsets.resize(before + count);
  for (std::size_t i = 0; i < count; ++i) {
    gathered.offsets[before + i] = values.ends[first + i] + moved;
  }
  gathered.bytes.append(values.bytes, static_cast<std::size_t>(begin),
                        static_cast<std::size_t>(values.ends[first + count - 1] - begin));
}

void ArrowColumns::AppendNumbers(const ArrowColumn& column, Gathered& gathered,
                                 const ColumnValues& values, std::size_t first, std::size_t count) {
  const std::span<const int64_t> numbers(values.numbers.data() + first, count);
  switch (column.values) {
    case Values::kWhole:
      gathered.whole.insert(gathered.whole.end(), numbers.begin(), numbers.end());
      break;
    case Values::kDecimal128:
      for (const int64_t number : numbers) {
        gathered.whole.push_back(number);
        gathered.whole.push_back(number < 0 ? -1 : 0);
      }
      break;
    case Values::kDays:
      for (const int64_t number : numbers) gathered.days.push_back(static_cast<int32_t>(number));
      break;
    default: {
      const auto units = static_cast<double>(
          kPowersOfTen[static_cast<std::size_t>(column.column->decimal_places)]);
      const std::size_t before = gathered.floats.size();
      gathered.floats.resize(before + count);
      Divide(numbers, units, gathered.floats.data() + before);
      break;
    }
  }
}

void ArrowColumns::Append(const Batch& batch, std::size_t first, std::size_t count) {
  if (count == 0) return;
  for (std::size_t i = 0; i < gathered_.size(); ++i) {
    const ArrowColumn& column = layout_.columns[i];
    const ColumnValues& values = batch.column(column.index);
    Gathered& gathered = gathered_[i];
    const auto range = [&](const auto& all) { return std::span(all.data() + first, count); };
    if (column.column->nullable == Nullable::kYes) {
      const auto present = range(values.present);
      gathered.present.insert(gathered.present.end(), present.begin(), present.end());
    }
    if (column.values == Values::kText) {
      AppendText(gathered, values, first, count);
    } else if (column.values == Values::kCodes) {
      const auto codes = range(values.codes);
      gathered.codes.insert(gathered.codes.end(), codes.begin(), codes.end());
    } else if (column.values == Values::kFlags) {
      const auto flags = range(values.flags);
      gathered.flags.insert(gathered.flags.end(), flags.begin(), flags.end());
    } else {
      AppendNumbers(column, gathered, values, first, count);
    }
  }
  rows_ += count;
}

std::shared_ptr<arrow::Array> ArrowColumns::FinishColumn(const ArrowColumn& column,
                                                         Gathered& gathered) const {
  const auto rows = static_cast<int64_t>(rows_);
  std::shared_ptr<arrow::Buffer> bits;
  int64_t nulls = 0;
  if (column.column->nullable == Nullable::kYes) {
    const std::vector<uint8_t>& present = gathered.present;
    switch (column.values) {
      case Values::kText:
        break;  // empty already
      case Values::kDecimal128:
        for (std::size_t i = 0; i < rows_; ++i) {
          if (present[i] == 0) gathered.whole[2 * i] = gathered.whole[2 * i + 1] = 0;
        }
        break;
      case Values::kCodes:
        ClearNulls(present, std::span(gathered.codes));
        break;
      case Values::kFlags:
        ClearNulls(present, std::span(gathered.flags));
        break;
      case Values::kWhole:
        ClearNulls(present, std::span(gathered.whole));
        break;
      case Values::kFloat:
        ClearNulls(present, std::span(gathered.floats));
        break;
      case Values::kDays:
        ClearNulls(present, std::span(gathered.days));
        break;
    }
    nulls = Pack(gathered.present, rows_, gathered.present_bits);
    if (nulls > 0) bits = Wrap(gathered.present_bits);
  }
  arrow::BufferVector buffers = {bits};
  switch (column.values) {
    case Values::kText:
      buffers.push_back(Wrap(gathered.offsets));
      buffers.push_back(std::make_shared<arrow::Buffer>(std::string_view(gathered.bytes)));
      break;
    case Values::kCodes:
      buffers.push_back(Wrap(gathered.codes));
      break;
    case Values::kFlags:
      Pack(gathered.flags, rows_, gathered.flag_bits);
      buffers.push_back(Wrap(gathered.flag_bits));
      break;
    case Values::kWhole:
    case Values::kDecimal128:
      buffers.push_back(Wrap(gathered.whole));
      break;
    case Values::kFloat:
      buffers.push_back(Wrap(gathered.floats));
      break;
    case Values::kDays:
      buffers.push_back(Wrap(gathered.days));
      break;
  }
  auto data = arrow::ArrayData::Make(column.type, rows, std::move(buffers), nulls);
  if (column.dictionary != nullptr) data->dictionary = column.dictionary->data();
  return arrow::MakeArray(data);
}

std::shared_ptr<arrow::RecordBatch> ArrowColumns::Finish() {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (std::size_t i = 0; i < gathered_.size(); ++i) {
    arrays.push_back(FinishColumn(layout_.columns[i], gathered_[i]));
  }
  if (layout_.nested) {
    std::span<const std::shared_ptr<arrow::Array>> leaves = arrays;
    arrays = Nest(layout_.schema->fields(), leaves);
  }
  return arrow::RecordBatch::Make(layout_.schema, static_cast<int64_t>(rows_), std::move(arrays));
}

}  // namespace reveza::datagen

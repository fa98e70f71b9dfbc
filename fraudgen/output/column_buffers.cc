#include "fraudgen/output/column_buffers.h"

#include <span>

#include "fraudgen/values/simd_width.h"

namespace reveza::fraudgen {
namespace {

constexpr std::string_view kMoneyUnit = "BRL";
// Of times, which are local.
constexpr std::string_view kTimeZone = "-03:00";

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

template <typename T>
void ClearNulls(const std::vector<uint8_t>& present, std::span<T> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = present[i] != 0 ? values[i] : T{};
  }
}

void AppendText(ColumnBuffers& buffers, const ColumnValues& values, std::size_t first,
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

void AppendNumbers(const Column& column, ColumnForm form, ColumnBuffers& buffers,
                   std::span<const int64_t> numbers) {
  switch (form) {
    case ColumnForm::kWhole:
      buffers.whole.insert(buffers.whole.end(), numbers.begin(), numbers.end());
      break;
    case ColumnForm::kDecimal128:
      for (const int64_t number : numbers) {
        buffers.whole.push_back(number);
        buffers.whole.push_back(number < 0 ? -1 : 0);
      }
      break;
    case ColumnForm::kDays:
      for (const int64_t number : numbers) buffers.days.push_back(static_cast<int32_t>(number));
      break;
    default: {
      const auto units =
          static_cast<double>(kPowersOfTen[static_cast<std::size_t>(column.decimal_places)]);
      const std::size_t before = buffers.floats.size();
      buffers.floats.resize(before + numbers.size());
      DivideNumbers(numbers, units, buffers.floats.data() + before);
      break;
    }
  }
}

}  // namespace

void DivideNumbers(std::span<const int64_t> numbers, double units, double* to) {
#if defined(__x86_64__)
  if (DetectSimdWidth() == SimdWidth::kEight) {
    return DivideByEight(numbers.data(), units, to, numbers.size());
  }
#endif
  DivideLoop(numbers.data(), units, to, numbers.size());
}

ColumnForm FormOf(const Column& column, Money money) {
  switch (column.type) {
    case ColumnType::kText:
      return ColumnForm::kText;
    case ColumnType::kCategory:
      return ColumnForm::kCodes;
    case ColumnType::kBoolean:
      return ColumnForm::kFlags;
    case ColumnType::kInteger:
    case ColumnType::kTimestamp:
      return ColumnForm::kWhole;
    case ColumnType::kDate:
      return ColumnForm::kDays;
    case ColumnType::kDecimal:
      break;
  }
  if (column.unit != kMoneyUnit || money == Money::kFloat) return ColumnForm::kFloat;
  return money == Money::kCents ? ColumnForm::kWhole : ColumnForm::kDecimal128;
}

std::optional<std::pair<std::string_view, std::string_view>> NoteOf(const Column& column,
                                                                    Money money) {
  if (column.unit == kMoneyUnit && money == Money::kCents) return {{"unit", "BRL / 100"}};
  if (!column.unit.empty()) return {{"unit", column.unit}};
  if (column.type == ColumnType::kTimestamp) return {{"time_zone", kTimeZone}};
  return std::nullopt;
}

void ColumnBuffers::Reserve(const Column& column, ColumnForm form, std::size_t rows) {
  const std::size_t room = rows + 8;  // PackBits() writes whole bytes of bits
  if (column.nullable == Nullable::kYes) present.reserve(room);
  Visit(form,
        [&](auto& values) { values.reserve(form == ColumnForm::kDecimal128 ? 2 * room : room); });
}

void ColumnBuffers::Append(const Column& column, ColumnForm form, const ColumnValues& values,
                           std::size_t first, std::size_t count) {
  const auto range = [&](const auto& all) { return std::span(all.data() + first, count); };
  if (column.nullable == Nullable::kYes) {
    const auto there = range(values.present);
    present.insert(present.end(), there.begin(), there.end());
  }
  if (form == ColumnForm::kText) {
    AppendText(*this, values, first, count);
  } else if (form == ColumnForm::kCodes) {
    const auto of_rows = range(values.codes);
    codes.insert(codes.end(), of_rows.begin(), of_rows.end());
  } else if (form == ColumnForm::kFlags) {
    const auto of_rows = range(values.flags);
    flags.insert(flags.end(), of_rows.begin(), of_rows.end());
  } else {
    AppendNumbers(column, form, *this, range(values.numbers));
  }
}

int64_t ColumnBuffers::Finish(const Column& column, ColumnForm form, std::size_t rows) {
  int64_t nulls = 0;
  if (column.nullable == Nullable::kYes) {
    if (form == ColumnForm::kDecimal128) {
      for (std::size_t i = 0; i < rows; ++i) {
        if (present[i] == 0) whole[2 * i] = whole[2 * i + 1] = 0;
      }
    } else if (form != ColumnForm::kText) {  // texts are empty
      Visit(form, [&](auto& values) { ClearNulls(present, std::span(values)); });
    }
    nulls = PackBits(present, rows, present_bits);
  }
  if (form == ColumnForm::kFlags) PackBits(flags, rows, flag_bits);
  return nulls;
}

void ColumnBuffers::Clear() {
  present.clear();
  flags.clear();
  codes.clear();
  whole.clear();
  days.clear();
  floats.clear();
  offsets.assign(1, 0);
  bytes.clear();
}

}  // namespace reveza::fraudgen

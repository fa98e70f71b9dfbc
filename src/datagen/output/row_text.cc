#include "datagen/output/row_text.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <string_view>

#include "datagen/civil_time.h"
#include "datagen/output/digits.h"
#include "datagen/text_format.h"

namespace reveza::datagen {
namespace {

// The most bytes that one byte of a text becomes: \u0001 in JSON, "" in CSV.
constexpr std::size_t kMostEscape = 6;

// Copies are of a fixed size where that is allowed, which is quicker than to find out how much.
inline char* Put(char* out, const Fragment& fragment) {
  constexpr std::size_t kMostOften = 32;
  std::memcpy(out, fragment.data, kMostOften);
  if (fragment.size > kMostOften) [[unlikely]] {
    std::memcpy(out + kMostOften, fragment.data + kMostOften, Fragment::kReadable - kMostOften);
    if (fragment.size > Fragment::kReadable) std::memcpy(out, fragment.data, fragment.size);
  }
  return out + fragment.size;
}

// `readable_end`: where the memory that `from` lies in ends.
inline char* Put(char* out, const char* from, std::size_t size, const char* readable_end) {
  constexpr std::ptrdiff_t kMostOften = 32;
  if (readable_end - from >= kMostOften && size <= kMostOften) [[likely]] {
    std::memcpy(out, from, kMostOften);
  } else {
    std::memcpy(out, from, size);
  }
  return out + size;
}

inline char* PutDay(char* out, int64_t days) {
  const DateText text = FormatDate(DateOf(days));
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

inline char* PutTime(char* out, int64_t microseconds) {
  const TimeText text = FormatTime(microseconds);
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// Whether any of the bytes must be escaped in a JSON string. Without an early end, so that the
// compiler looks at many bytes at once.
bool JsonNeedsEscape(std::string_view bytes) {
  uint8_t found = 0;
  for (const char byte : bytes) {
    const auto code = static_cast<uint8_t>(byte);
    found |= static_cast<uint8_t>((code < 0x20) | (code == '"') | (code == '\\'));
  }
  return found != 0;
}

bool CsvNeedsQuotes(std::string_view bytes, char separator) {
  uint8_t found = 0;
  for (const char byte : bytes) {
    found |=
        static_cast<uint8_t>((byte == separator) | (byte == '"') | (byte == '\n') | (byte == '\r'));
  }
  return found != 0;
}

bool HasEmpty(const ColumnValues& values) {
  int32_t before = 0;
  for (const int32_t end : values.ends) {
    if (end == before) return true;
    before = end;
  }
  return false;
}

}  // namespace

RowText::Way RowText::WayOf(const TextColumn& column, const ColumnValues& values) const {
  switch (column.type) {
    case ColumnType::kText: {
      const std::string_view bytes = values.bytes;
      const bool escape = plan_.json()
                              ? JsonNeedsEscape(bytes)
                              : CsvNeedsQuotes(bytes, plan_.separator()) || HasEmpty(values);
      return escape ? Way::kTextToEscape : Way::kText;
    }
    case ColumnType::kCategory:
      return column.nullable ? Way::kCategoryOrNull : Way::kCategory;
    case ColumnType::kBoolean:
      return column.nullable ? Way::kBooleanOrNull : Way::kBoolean;
    case ColumnType::kInteger:
      return Way::kInteger;
    case ColumnType::kDecimal:
      if (column.places == 2) return Way::kHundredths;
      return column.places == 6 ? Way::kMillionths : Way::kDecimal;
    case ColumnType::kDate:
      return Way::kDate;
    case ColumnType::kTimestamp:
      break;
  }
  return Way::kTimestamp;
}

void RowText::Begin(const Batch& batch) {
  sources_.clear();
  for (const TextColumn& column : plan_.columns()) {
    const ColumnValues& values = batch.column(column.index);
    sources_.push_back({.way = WayOf(column, values),
                        .column = &column,
                        .present = column.nullable ? values.present.data() : nullptr,
                        .numbers = values.numbers.data(),
                        .codes = values.codes.data(),
                        .flags = values.flags.data(),
                        .ends = values.ends.data(),
                        .bytes = values.bytes.data(),
                        .bytes_end = values.bytes.data() + values.bytes.size()});
  }
}

std::size_t RowText::MostBytes(std::size_t first, std::size_t last) const {
  std::size_t most = (last - first) * plan_.most_row_bytes();
  for (const Source& source : sources_) {
    if (source.column->type != ColumnType::kText) continue;
    const int32_t begin = first == 0 ? 0 : source.ends[first - 1];
    const auto bytes = static_cast<std::size_t>(source.ends[last - 1] - begin);
    most += source.way == Way::kText ? bytes : kMostEscape * bytes;
  }
  return most;
}

char* RowText::PutEscaped(char* out, std::string_view value) const {
  std::string text;
  if (plan_.json()) {
    AppendJsonText(text, value);
    // The quotes are in what stands before and after.
    text = text.substr(1, text.size() - 2);
  } else {
    AppendCsvText(text, value, plan_.separator());
  }
  std::ranges::copy(text, out);
  return out + text.size();
}

inline char* RowText::PutValue(char* out, const Source& source, std::size_t row) const {
  const TextColumn& column = *source.column;
  switch (source.way) {
    case Way::kCategory:
      assert(source.codes[row] + 1u < column.choices.size());
      return Put(out, column.choices[source.codes[row]]);
    case Way::kCategoryOrNull: {
      const std::size_t null = column.choices.size() - 1;
      const std::size_t choice = source.present[row] != 0 ? source.codes[row] : null;
      assert(source.present[row] == 0 || choice < null);
      return Put(out, column.choices[choice]);
    }
    case Way::kBoolean:
      return Put(out, column.choices[source.flags[row] != 0 ? 1 : 0]);
    case Way::kBooleanOrNull:
      return Put(out,
                 column.choices[source.present[row] != 0 ? (source.flags[row] != 0 ? 1 : 0) : 2]);
    default:
      break;
  }
  if (source.present != nullptr && source.present[row] == 0) return Put(out, column.null);
  out = Put(out, column.lead);
  switch (source.way) {
    case Way::kText:
    case Way::kTextToEscape: {
      const int32_t begin = row == 0 ? 0 : source.ends[row - 1];
      const auto size = static_cast<std::size_t>(source.ends[row] - begin);
      out = source.way == Way::kText
                ? Put(out, source.bytes + begin, size, source.bytes_end)
                : PutEscaped(out, std::string_view(source.bytes + begin, size));
      break;
    }
    case Way::kInteger:
      return PutInteger(out, source.numbers[row]);
    case Way::kHundredths:
      return PutDecimal<2>(out, source.numbers[row]);
    case Way::kMillionths:
      return PutDecimal<6>(out, source.numbers[row]);
    case Way::kDecimal: {
      std::string text;
      AppendDecimal(text, source.numbers[row], column.places);
      std::ranges::copy(text, out);
      return out + text.size();
    }
    case Way::kDate:
      out = PutDay(out, source.numbers[row]);
      break;
    default:
      out = PutTime(out, source.numbers[row]);
      break;
  }
  // A quote, or a zone and a quote; nothing in CSV.
  std::memcpy(out, column.tail.data, sizeof(uint64_t));
  return out + column.tail.size;
}

void RowText::Append(std::size_t first, std::size_t last, TextBuffer& text) const {
  if (first == last) return;
  char* out = text.Reserve(MostBytes(first, last));
  const Fragment row_tail = plan_.row_tail();
  for (std::size_t row = first; row < last; ++row) {
    for (const Source& source : sources_) out = PutValue(out, source, row);
    out = Put(out, row_tail);
  }
  text.SetEnd(out);
}

}  // namespace reveza::datagen

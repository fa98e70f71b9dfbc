#include "datagen/output/row_text.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <string_view>

#include "datagen/civil_time.h"
#include "datagen/digits.h"
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

// Sixteen bytes that are looked at together.
using Bytes = uint8_t __attribute__((vector_size(16)));

// Whether `is_special` is so for any of the bytes; it takes and gives sixteen, 255 for yes. Without
// an early end: there hardly ever is one.
template <typename IsSpecial>
bool HasSpecial(std::string_view text, const IsSpecial& is_special) {
  Bytes found{};
  std::size_t i = 0;
  for (; i + sizeof(Bytes) <= text.size(); i += sizeof(Bytes)) {
    Bytes bytes;
    std::memcpy(&bytes, text.data() + i, sizeof bytes);
    found |= is_special(bytes);
  }
  // A letter where the text has ended is not special.
  Bytes bytes = Bytes{} + 'a';
  std::memcpy(&bytes, text.data() + i, text.size() - i);
  found |= is_special(bytes);
  uint64_t halves[2];
  std::memcpy(halves, &found, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

bool JsonNeedsEscape(std::string_view text) {
  return HasSpecial(text, [](Bytes bytes) {
    return static_cast<Bytes>((bytes < 0x20) | (bytes == '"') | (bytes == '\\'));
  });
}

bool CsvNeedsQuotes(std::string_view text, char separator) {
  return HasSpecial(text, [separator](Bytes bytes) {
    return static_cast<Bytes>((bytes == static_cast<uint8_t>(separator)) | (bytes == '"') |
                              (bytes == '\n') | (bytes == '\r'));
  });
}

// Whether a text that is no null is empty. All nulls are empty texts.
bool HasEmpty(const ColumnValues& values, bool nullable) {
  std::size_t empty = values.ends.empty() || values.ends[0] != 0 ? 0 : 1;
  for (std::size_t row = 1; row < values.ends.size(); ++row) {
    empty += values.ends[row] == values.ends[row - 1] ? 1 : 0;
  }
  if (!nullable) return empty != 0;
  return empty != static_cast<std::size_t>(std::ranges::count(values.present, uint8_t{0}));
}

}  // namespace

RowText::Way RowText::WayOf(const TextColumn& column, const ColumnValues& values) const {
  switch (column.type) {
    case ColumnType::kText: {
      const std::string_view bytes = values.bytes;
      const bool escape = plan_.json() ? JsonNeedsEscape(bytes)
                                       : CsvNeedsQuotes(bytes, plan_.separator()) ||
                                             HasEmpty(values, column.nullable);
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
                        .places = column.places,
                        .lead = column.lead,
                        .tail = column.tail,
                        .null = column.null,
                        .choices = column.choices.data(),
                        .null_choice = column.choices.size() - 1,
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
    if (source.way != Way::kText && source.way != Way::kTextToEscape) continue;
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
  switch (source.way) {
    case Way::kCategory:
      assert(source.codes[row] < source.null_choice);
      return Put(out, source.choices[source.codes[row]]);
    case Way::kCategoryOrNull: {
      const bool present = source.present[row] != 0;
      assert(!present || source.codes[row] < source.null_choice);
      return Put(out, source.choices[present ? source.codes[row] : source.null_choice]);
    }
    case Way::kBoolean:
      return Put(out, source.choices[source.flags[row] != 0 ? 1 : 0]);
    case Way::kBooleanOrNull: {
      const std::size_t flag = source.flags[row] != 0 ? 1 : 0;
      return Put(out, source.choices[source.present[row] != 0 ? flag : source.null_choice]);
    }
    default:
      break;
  }
  if (source.present != nullptr && source.present[row] == 0) return Put(out, source.null);
  out = Put(out, source.lead);
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
      AppendDecimal(text, source.numbers[row], source.places);
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
  std::memcpy(out, source.tail.data, sizeof(uint64_t));
  return out + source.tail.size;
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

#include "fraudgen/output/row_text.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <string_view>

#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/digits.h"
#include "fraudgen/values/simd_width.h"
#include "fraudgen/values/text_format.h"

namespace reveza::fraudgen {
namespace {

// Maximum bytes per escaped byte: \u0001 in JSON, "" in CSV.
constexpr std::size_t kMaxEscape = 6;

// Copies kBytes where possible, which is faster than a copy of variable size.
template <std::size_t kBytes>
[[gnu::always_inline]] inline char* Put(char* out, const Fragment& fragment) {
  static_assert(kBytes <= Fragment::kReadable);
  std::memcpy(out, fragment.data, kBytes);
  if (fragment.size > kBytes) [[unlikely]]
    std::memcpy(out, fragment.data, fragment.size);
  return out + fragment.size;
}

// Leads are short and constant; the size of choices varies, so a branch on it would be
// mispredicted.
constexpr std::size_t kStartBytes = 32;
constexpr std::size_t kChoiceBytes = Fragment::kReadable;

// `readable_end`: end of the readable memory behind `text`.
[[gnu::always_inline]] inline char* Put(char* out, std::string_view text,
                                        const char* readable_end) {
  constexpr std::ptrdiff_t kMaxOften = 32;
  if (readable_end - text.data() >= kMaxOften && text.size() <= kMaxOften) [[likely]] {
    std::memcpy(out, text.data(), kMaxOften);
  } else {
    std::memcpy(out, text.data(), text.size());
  }
  return out + text.size();
}

// Sixteen bytes processed together.
using Bytes = uint8_t __attribute__((vector_size(16)));

// Returns true if any byte is special. `is_special` maps sixteen bytes to 255 or 0. No early exit,
// since special bytes are rare.
template <typename IsSpecial>
bool HasSpecial(std::string_view text, const IsSpecial& is_special) {
  Bytes found{};
  std::size_t i = 0;
  for (; i + sizeof(Bytes) <= text.size(); i += sizeof(Bytes)) {
    Bytes bytes;
    std::memcpy(&bytes, text.data() + i, sizeof bytes);
    found |= is_special(bytes);
  }
  // Pads with a letter, which is not special.
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

// Returns true if a text that is not null is empty. Nulls are stored as empty texts.
bool HasEmpty(const ColumnValues& values, bool nullable) {
  std::size_t empty = values.ends.empty() || values.ends[0] != 0 ? 0 : 1;
  for (std::size_t row = 1; row < values.ends.size(); ++row) {
    empty += values.ends[row] == values.ends[row - 1] ? 1 : 0;
  }
  if (!nullable) return empty != 0;
  return empty != static_cast<std::size_t>(std::ranges::count(values.present, uint8_t{0}));
}

}  // namespace

RowText::Encoding RowText::EncodingOf(const TextColumn& column, const ColumnValues& values) const {
  const auto either = [&](Encoding encoding, Encoding or_null) {
    return column.nullable ? or_null : encoding;
  };
  switch (column.type) {
    case ColumnType::kText: {
      const std::string_view bytes = values.bytes;
      const bool escape = plan_.json() ? JsonNeedsEscape(bytes)
                                       : CsvNeedsQuotes(bytes, plan_.separator()) ||
                                             HasEmpty(values, column.nullable);
      return escape ? Encoding::kTextToEscape : either(Encoding::kText, Encoding::kTextOrNull);
    }
    case ColumnType::kCategory:
      return either(Encoding::kCategory, Encoding::kCategoryOrNull);
    case ColumnType::kBoolean:
      return either(Encoding::kBoolean, Encoding::kBooleanOrNull);
    case ColumnType::kInteger:
      return either(Encoding::kInteger, Encoding::kIntegerOrNull);
    case ColumnType::kDecimal:
      if (column.nullable &&
          std::ranges::find(values.present, ColumnValues::kAsText) != values.present.end()) {
        return Encoding::kOther;
      }
      if (column.places == 2) return either(Encoding::kHundredths, Encoding::kHundredthsOrNull);
      if (column.places == 6) return either(Encoding::kMillionths, Encoding::kMillionthsOrNull);
      return Encoding::kOther;
    case ColumnType::kDate:
      return Encoding::kOther;
    case ColumnType::kTimestamp:
      break;
  }
  return either(Encoding::kTimestamp, Encoding::kTimestampOrNull);
}

void RowText::Begin(const Batch& batch) {
  sources_.clear();
  for (const TextColumn& column : plan_.columns()) {
    const ColumnValues& values = batch.column(column.index);
    sources_.push_back({.encoding = EncodingOf(column, values),
                        .type = column.type,
                        .places = column.places,
                        .starts = {column.null, column.lead},
                        .tail = column.tail.data,
                        .tail_sizes = {0, column.tail.size},
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

std::size_t RowText::MaxBytes(std::size_t first, std::size_t last) const {
  std::size_t max_bytes = (last - first) * plan_.max_row_bytes();
  for (const Source& source : sources_) {
    if (source.type != ColumnType::kText) continue;
    const int32_t begin = first == 0 ? 0 : source.ends[first - 1];
    const auto bytes = static_cast<std::size_t>(source.ends[last - 1] - begin);
    max_bytes += source.encoding == Encoding::kTextToEscape ? kMaxEscape * bytes : bytes;
  }
  return max_bytes;
}

char* RowText::PutEscaped(char* out, std::string_view value) const {
  std::string text;
  if (plan_.json()) {
    AppendJsonText(text, value);
    // The quotes are part of lead and tail.
    text = text.substr(1, text.size() - 2);
  } else {
    AppendCsvText(text, value, plan_.separator());
  }
  std::ranges::copy(text, out);
  return out + text.size();
}

// Formats a number as text with a decimal comma, which JSON and CSV readers do not parse.
char* RowText::PutAsText(char* out, const Source& source, std::size_t row) const {
  std::string text;
  AppendDecimal(text, source.numbers[row], source.places);
  std::ranges::replace(text, '.', ',');
  std::string whole;
  if (plan_.json()) {
    AppendJsonText(whole, text);
  } else {
    AppendCsvText(whole, text, plan_.separator());
  }
  return std::ranges::copy(whole, Put<kStartBytes>(out, source.starts[1])).out;
}

char* RowText::PutOther(char* out, const Source& source, std::size_t row) const {
  if (!source.IsPresent(row)) return Put<kStartBytes>(out, source.starts[0]);
  if (source.present != nullptr && source.present[row] == ColumnValues::kAsText) {
    return PutAsText(out, source, row);
  }
  out = Put<kStartBytes>(out, source.starts[1]);
  if (source.type == ColumnType::kText) {
    out = PutEscaped(out, source.TextAt(row));
  } else if (source.type == ColumnType::kDate) {
    out = PutDay(out, source.numbers[row]);
  } else {
    std::string text;
    AppendDecimal(text, source.numbers[row], source.places);
    std::ranges::copy(text, out);
    out += text.size();
  }
  return std::ranges::copy_n(source.tail, static_cast<std::ptrdiff_t>(source.tail_sizes[1]), out)
      .out;
}

[[gnu::always_inline]] inline char* RowText::PutValue(char* out, const Source& source,
                                                      std::size_t row, TimeWriter& times) const {
  // A quote; empty in CSV.
  const auto put_tail = [&source](char* end, std::size_t present) {
    std::memcpy(end, source.tail, sizeof(uint64_t));
    return end + source.tail_sizes[present];
  };
  switch (source.encoding) {
    case Encoding::kText:
      out = Put<kStartBytes>(out, source.starts[1]);
      return put_tail(Put(out, source.TextAt(row), source.bytes_end), 1);
    case Encoding::kTextOrNull: {
      // Nulls are empty texts, so no branch is needed.
      const std::size_t present = source.present[row];
      out = Put<kStartBytes>(out, source.starts[present]);
      return put_tail(Put(out, source.TextAt(row), source.bytes_end), present);
    }
    case Encoding::kCategory:
      assert(source.codes[row] < source.null_choice);
      return Put<kChoiceBytes>(out, source.choices[source.codes[row]]);
    case Encoding::kCategoryOrNull: {
      const bool present = source.present[row] != 0;
      assert(!present || source.codes[row] < source.null_choice);
      return Put<kChoiceBytes>(out,
                               source.choices[present ? source.codes[row] : source.null_choice]);
    }
    case Encoding::kBoolean:
      return Put<kStartBytes>(out, source.choices[source.flags[row]]);
    case Encoding::kBooleanOrNull: {
      const std::size_t flag = source.flags[row];
      return Put<kStartBytes>(out,
                              source.choices[source.present[row] != 0 ? flag : source.null_choice]);
    }
    case Encoding::kIntegerOrNull: {
      const std::size_t present = source.present[row];
      out = Put<kStartBytes>(out, source.starts[present]);
      char* const end = PutInteger(out, source.numbers[row]);
      return present != 0 ? end : out;
    }
    case Encoding::kInteger:
      return PutInteger(Put<kStartBytes>(out, source.starts[1]), source.numbers[row]);
    case Encoding::kHundredthsOrNull:
      if (source.present[row] == 0) return Put<kStartBytes>(out, source.starts[0]);
      [[fallthrough]];
    case Encoding::kHundredths:
      return PutDecimal<2>(Put<kStartBytes>(out, source.starts[1]), source.numbers[row]);
    case Encoding::kMillionthsOrNull:
      if (source.present[row] == 0) return Put<kStartBytes>(out, source.starts[0]);
      [[fallthrough]];
    case Encoding::kMillionths:
      return PutDecimal<6>(Put<kStartBytes>(out, source.starts[1]), source.numbers[row]);
    case Encoding::kTimestampOrNull:
      if (source.present[row] == 0) return Put<kStartBytes>(out, source.starts[0]);
      [[fallthrough]];
    case Encoding::kTimestamp:
      out = Put<kStartBytes>(out, source.starts[1]);
      return put_tail(times.Put(out, source.numbers[row]), 1);
    case Encoding::kTextToEscape:
    case Encoding::kOther:
      break;
  }
  return PutOther(out, source, row);
}

[[gnu::always_inline]] inline char* RowText::PutRows(std::size_t first, std::size_t last,
                                                     char* out) const {
  const Fragment row_tail = plan_.row_tail();
  const Source* const begin = sources_.data();
  const Source* const end = begin + sources_.size();
  TimeWriter times;
  for (std::size_t row = first; row < last; ++row) {
    for (const Source* source = begin; source != end; ++source) {
      out = PutValue(out, *source, row, times);
    }
    out = Put<kStartBytes>(out, row_tail);
  }
  return out;
}

char* RowText::AppendRows(std::size_t first, std::size_t last, char* out) const {
  return PutRows(first, last, out);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] char* RowText::AppendRowsAvx2(std::size_t first, std::size_t last,
                                                      char* out) const {
  return PutRows(first, last, out);
}
#endif

void RowText::Append(std::size_t first, std::size_t last, TextBuffer& text) const {
  if (first == last) return;
  char* out = text.Reserve(MaxBytes(first, last));
#if defined(__x86_64__)
  // Copies of 32 bytes take one instruction.
  if (DetectSimdWidth() != SimdWidth::kScalar) {
    return text.SetEnd(AppendRowsAvx2(first, last, out));
  }
#endif
  text.SetEnd(AppendRows(first, last, out));
}

}  // namespace reveza::fraudgen

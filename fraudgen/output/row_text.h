// Formats rows of batches as text, following a TextPlan. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fraudgen/output/text_buffer.h"
#include "fraudgen/output/text_plan.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/values/digits.h"

namespace reveza::fraudgen {

class RowText {
 public:
  explicit RowText(TextPlan plan) : plan_(std::move(plan)) {}

  const TextPlan& plan() const { return plan_; }

  // Starts a batch, which must not change while its rows are appended.
  void Begin(const Batch& batch);
  // Appends the rows [first, last).
  void Append(std::size_t first, std::size_t last, TextBuffer& text) const;

 private:
  // How a column of this batch is written, by type, nullability and need for escapes.
  enum class Encoding : uint8_t {
    kText,
    kTextOrNull,
    kTextToEscape,
    kCategory,
    kCategoryOrNull,
    kBoolean,
    kBooleanOrNull,
    kInteger,
    kIntegerOrNull,
    kHundredths,
    kHundredthsOrNull,
    kMillionths,
    kMillionthsOrNull,
    kOther,  // dates, and decimals of other precision
    kTimestamp,
    kTimestampOrNull,
  };
  // A column of the plan with its values in the batch, laid out for locality.
  struct Source {
    Encoding encoding;
    ColumnType type;
    int places;
    // Lead and tail of a value, for nulls (0) and values (1).
    Fragment starts[2];
    const char* tail;
    std::size_t tail_sizes[2];
    const Fragment* choices;
    std::size_t null_choice;
    const uint8_t* present;  // of nullable columns
    const int64_t* numbers;
    const uint16_t* codes;
    const uint8_t* flags;
    const int32_t* ends;
    const char* bytes;
    const char* bytes_end;

    bool IsPresent(std::size_t row) const { return present == nullptr || present[row] != 0; }
    std::string_view TextAt(std::size_t row) const {
      const int32_t begin = row == 0 ? 0 : ends[row - 1];
      return {bytes + begin, static_cast<std::size_t>(ends[row] - begin)};
    }
  };

  Encoding EncodingOf(const TextColumn& column, const ColumnValues& values) const;
  std::size_t MaxBytes(std::size_t first, std::size_t last) const;
  char* AppendRows(std::size_t first, std::size_t last, char* out) const;
  char* AppendRowsAvx2(std::size_t first, std::size_t last, char* out) const;
  char* PutRows(std::size_t first, std::size_t last, char* out) const;
  char* PutValue(char* out, const Source& source, std::size_t row, TimeWriter& times) const;
  char* PutOther(char* out, const Source& source, std::size_t row) const;
  char* PutEscaped(char* out, std::string_view value) const;
  char* PutAsText(char* out, const Source& source, std::size_t row) const;

  TextPlan plan_;
  std::vector<Source> sources_;
};

}  // namespace reveza::fraudgen

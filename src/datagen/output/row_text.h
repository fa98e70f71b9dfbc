// Writes rows of batches as text, by a plan made once. Not safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "datagen/batch.h"
#include "datagen/digits.h"
#include "datagen/output/text_buffer.h"
#include "datagen/output/text_plan.h"

namespace reveza::datagen {

class RowText {
 public:
  explicit RowText(TextPlan plan) : plan_(std::move(plan)) {}

  const TextPlan& plan() const { return plan_; }

  // Looks at the next batch, which must stay as it is while its rows are appended.
  void Begin(const Batch& batch);
  // The rows from `first` up to `last`.
  void Append(std::size_t first, std::size_t last, TextBuffer& text) const;

 private:
  // How a column of this batch is written: by type, whether it may be null, and by what its values
  // need.
  enum class Way : uint8_t {
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
    kOther,  // what is rare: dates, and decimals of other places
    kTimestamp,
    kTimestampOrNull,
  };
  // A column of the plan with the values of the batch, all that a row needs side by side.
  struct Source {
    Way way;
    ColumnType type;
    int places;
    // What stands before a value, and what it ends with, if it is null (0) and if not (1).
    Fragment starts[2];
    const char* tail;
    std::size_t tail_sizes[2];
    const Fragment* choices;
    std::size_t null_choice;
    const uint8_t* present;  // of a column that may be null
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

  Way WayOf(const TextColumn& column, const ColumnValues& values) const;
  std::size_t MostBytes(std::size_t first, std::size_t last) const;
  char* AppendRows(std::size_t first, std::size_t last, char* out) const;
  char* AppendRowsByFour(std::size_t first, std::size_t last, char* out) const;
  char* PutRows(std::size_t first, std::size_t last, char* out) const;
  char* PutValue(char* out, const Source& source, std::size_t row, TimeWriter& times) const;
  char* PutOther(char* out, const Source& source, std::size_t row) const;
  char* PutEscaped(char* out, std::string_view value) const;
  char* PutAsText(char* out, const Source& source, std::size_t row) const;

  TextPlan plan_;
  std::vector<Source> sources_;
};

}  // namespace reveza::datagen

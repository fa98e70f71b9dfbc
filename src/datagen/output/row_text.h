// Writes rows of batches as text, by a plan made once. Not safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datagen/batch.h"
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
  // How a column of this batch is written: by type, and by what its values need.
  enum class Way : uint8_t {
    kText,
    kTextToEscape,
    kCategory,
    kCategoryOrNull,
    kBoolean,
    kBooleanOrNull,
    kInteger,
    kHundredths,
    kMillionths,
    kDecimal,
    kDate,
    kTimestamp,
  };
  // A column of the plan with the values of the batch, all that a row needs side by side.
  struct Source {
    Way way;
    int places;
    Fragment lead;
    Fragment tail;
    Fragment null;
    const Fragment* choices;
    std::size_t null_choice;
    const uint8_t* present;  // of a column that may be null
    const int64_t* numbers;
    const uint16_t* codes;
    const uint8_t* flags;
    const int32_t* ends;
    const char* bytes;
    const char* bytes_end;
  };

  Way WayOf(const TextColumn& column, const ColumnValues& values) const;
  std::size_t MostBytes(std::size_t first, std::size_t last) const;
  char* PutValue(char* out, const Source& source, std::size_t row) const;
  char* PutEscaped(char* out, std::string_view value) const;

  TextPlan plan_;
  std::vector<Source> sources_;
};

}  // namespace reveza::datagen

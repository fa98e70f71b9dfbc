// The rows of the answer key to what was broken on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "datagen/batch.h"
#include "datagen/model.h"
#include "datagen/schema_defects.h"

namespace reveza::datagen {

// On their way to a sink. Not safe from several threads.
class AnswerKey {
 public:
  struct Entry {
    std::size_t table = 0;  // of kBreakableTables
    std::string_view row_id = {};
    DefectKind kind = DefectKind::kLate;
    uint64_t position = 0;  // from 0
    uint64_t original_position = 0;
    std::string_view column = {};  // empty: none
    std::string_view right_value = {};
  };

  // Null: nobody wants them.
  explicit AnswerKey(BatchSink* sink);
  Status Put(const Entry& entry);
  Status Flush();

 private:
  BatchSink* sink_;
  Batch batch_;
  std::size_t rows_ = 0;
};

}  // namespace reveza::datagen

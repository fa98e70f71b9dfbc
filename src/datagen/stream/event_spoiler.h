// Breaks rows of one source of a timeline: the same ones as in files, with the same damage. What is
// only out of its place it marks, for only the whole timeline has places (displaced_events.h). Not
// safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.h"
#include "datagen/batch.h"
#include "datagen/defects/row_defects.h"
#include "datagen/output/row_text.h"
#include "datagen/output/table_writer.h"
#include "datagen/stream/event.h"

namespace reveza::datagen {

class EventSpoiler {
 public:
  // `first_row`: the number in the whole table of the source's first row, if the others follow in
  // order; else the rows' identifiers are their numbers. The defects must outlive it.
  static Result<std::unique_ptr<EventSpoiler>> Make(const TableOptions& options,
                                                    const RowDefects& defects,
                                                    std::optional<uint64_t> first_row);

  // What is wrong with the source's next row, which is this one; of a damaged one appends the line.
  std::optional<EventDefect> Next(const Batch& batch, std::size_t row, TextBuffer& lines);

 private:
  EventSpoiler(TextPlan plan, const RowDefects& defects, std::optional<uint64_t> first_row);

  const RowDefects* defects_;
  std::optional<uint64_t> next_row_;
  RowText text_;
  Batch damaged_;
};

}  // namespace reveza::datagen

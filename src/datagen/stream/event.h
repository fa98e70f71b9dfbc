// One row of a timeline on its way to whoever listens: as text, with what it is told apart by.
// Values, so safe from any thread that owns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datagen/output/text_buffer.h"
#include "datagen/schema_defects.h"

namespace reveza::datagen {

// What is wrong with an event, where that is asked for.
struct EventDefect {
  DefectKind kind = DefectKind::kLate;
  uint32_t rows_later = 0;         // late, outoforder, duplicate: as in Defect
  std::string_view column = {};    // null, schema: the damaged one
  std::string right_value = {};    // and what was right
  uint64_t original_position = 0;  // from 0; known once all timelines are one
};

// Points into an EventBatch.
struct Event {
  int64_t time = 0;                     // microseconds, as in civil_time.h
  std::string_view id;                  // of the row; nobody else has it
  std::string_view key;                 // whose events stay in order: the customer's
  std::string_view line;                // one record, with the end of line
  const EventDefect* defect = nullptr;  // of a row that is broken on purpose

  std::string_view record() const { return line.substr(0, line.size() - 1); }
  // The order of a timeline.
  friend bool operator<(const Event& one, const Event& other) {
    return one.time != other.time ? one.time < other.time : one.id < other.id;
  }
};

// Events in order of time and identifier, with their bytes.
class EventBatch {
 public:
  std::size_t size() const { return entries_.size(); }
  Event At(std::size_t index) const {
    const Entry& entry = entries_[index];
    const std::string_view names = names_.view();
    const std::string_view lines = lines_.view();
    return {.time = entry.time,
            .id = names.substr(entry.name, entry.id_size),
            .key = names.substr(entry.name + entry.id_size, entry.key_size),
            .line = lines.substr(entry.line, entry.line_size),
            .defect = entry.defect == 0 ? nullptr : &defects_[entry.defect - 1]};
  }
  int64_t TimeAt(std::size_t index) const { return entries_[index].time; }

  void Clear();
  // Copies it.
  void Add(const Event& event);
  // To write the lines of some rows first, and then say which they are, in the same order.
  TextBuffer& lines() { return lines_; }
  void AddLine(int64_t time, std::string_view id, std::string_view key, std::size_t line,
               std::size_t line_size);
  // Of the event that was added last.
  void SetDefect(EventDefect defect);
  void Sort();
  // Leaves the first `size` of them.
  void Shorten(std::size_t size) { entries_.resize(size); }

 private:
  struct Entry {
    int64_t time;
    uint32_t name;
    uint32_t line;
    uint32_t line_size;
    uint16_t id_size;
    uint16_t key_size;
    uint32_t defect;  // the place in `defects_`, from 1; 0: none
  };

  std::vector<Entry> entries_;
  TextBuffer names_;
  TextBuffer lines_;
  std::vector<EventDefect> defects_;
};

}  // namespace reveza::datagen

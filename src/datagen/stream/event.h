// One row of a timeline on its way to whoever listens: as text, with what it is told apart by.
// Values, so safe from any thread that owns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "datagen/output/text_buffer.h"

namespace reveza::datagen {

// Points into an EventBatch.
struct Event {
  int64_t time = 0;       // microseconds, as in civil_time.h
  std::string_view id;    // of the row; nobody else has it
  std::string_view key;   // whose events stay in order: the customer's
  std::string_view line;  // one record, with the end of line

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
            .line = lines.substr(entry.line, entry.line_size)};
  }
  int64_t TimeAt(std::size_t index) const { return entries_[index].time; }

  void Clear();
  // Copies it.
  void Add(const Event& event);
  // To write the lines of some rows first, and then say which they are, in the same order.
  TextBuffer& lines() { return lines_; }
  void AddLine(int64_t time, std::string_view id, std::string_view key, std::size_t line,
               std::size_t line_size);
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
  };

  std::vector<Entry> entries_;
  TextBuffer names_;
  TextBuffer lines_;
};

}  // namespace reveza::datagen

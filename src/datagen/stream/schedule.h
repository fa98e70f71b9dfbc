// When each event is due, counted from the first: by its number or by its time, never by when the
// one before was sent, so that what is late is made up for and the rate stays true. A value, pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace reveza::datagen {

class Schedule {
 public:
  // At once.
  static Schedule Max() { return {Kind::kMax, 0}; }
  // So many millionths of an event a second, at least 1.
  static Schedule Rate(uint64_t millionths) { return {Kind::kRate, millionths}; }
  // The timeline's own pauses, so many times as fast; at least 1.
  static Schedule Pace(uint64_t times) { return {Kind::kPace, times}; }

  // "250", "0.5": events a second, from a millionth to a billion.
  static Result<Schedule> ParseRate(std::string_view text);
  // real, max, or x60 for sixty times as fast.
  static Result<Schedule> ParsePace(std::string_view text);

  bool IsMax() const { return kind_ == Kind::kMax; }

  // Of the event of this number, from 0, at most a century; the times are the timeline's, in
  // microseconds, and not before the first.
  std::chrono::nanoseconds DueAt(uint64_t number, int64_t time, int64_t first_time) const;

 private:
  enum class Kind { kMax, kRate, kPace };
  Schedule(Kind kind, uint64_t factor) : kind_(kind), factor_(factor) {}

  Kind kind_;
  uint64_t factor_;
};

}  // namespace reveza::datagen

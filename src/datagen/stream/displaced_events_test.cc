#include "datagen/stream/displaced_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace reveza::datagen {
namespace {

// Events a, b, c and so on, each at the next second.
class Alphabet final : public EventFeed {
 public:
  Alphabet(std::size_t letters, std::map<char, EventDefect> defects, std::size_t at_once)
      : letters_(letters), defects_(std::move(defects)), at_once_(at_once) {}

  Status Next(std::size_t most, std::vector<Event>& events) override {
    // What was given before is gone.
    batch_.Clear();
    events.clear();
    const std::size_t end = std::min(letters_, next_ + std::min(most, at_once_));
    for (; next_ < end; ++next_) {
      const char letter = static_cast<char>('a' + next_);
      const std::string id(1, letter);
      const auto defect = defects_.find(letter);
      batch_.Add({.time = static_cast<int64_t>(next_),
                  .id = id,
                  .key = id,
                  .line = id + "\n",
                  .defect = defect == defects_.end() ? nullptr : &defect->second});
    }
    for (std::size_t i = 0; i < batch_.size(); ++i) events.push_back(batch_.At(i));
    return {};
  }

 private:
  std::size_t letters_;
  std::map<char, EventDefect> defects_;
  std::size_t at_once_;
  std::size_t next_ = 0;
  EventBatch batch_;
};

struct Read {
  std::string lines;
  std::vector<int64_t> times;
  std::map<std::string, uint64_t> originals;  // of the broken ones
};

Read All(std::map<char, EventDefect> defects, std::size_t most = 5, std::size_t at_once = 3) {
  Alphabet alphabet(10, std::move(defects), at_once);
  DisplacedEvents displaced(alphabet);
  Read read;
  std::vector<Event> events;
  while (displaced.Next(most, events) && !events.empty()) {
    EXPECT_LE(events.size(), most);
    for (const Event& event : events) {
      read.lines += event.record();
      read.times.push_back(event.time);
      if (event.defect != nullptr) {
        read.originals[std::string(event.id)] = event.defect->original_position;
      }
    }
  }
  return read;
}

TEST(DisplacedEventsTest, WithoutDefectsItIsTheTimeline) {
  const Read read = All({});
  EXPECT_EQ(read.lines, "abcdefghij");
  EXPECT_EQ(read.times, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(DisplacedEventsTest, LateOnesComeBehindSoManyOthers) {
  const Read read = All({{'b', {.kind = DefectKind::kLate, .rows_later = 4}},
                         {'d', {.kind = DefectKind::kOutOfOrder, .rows_later = 1}}});
  EXPECT_EQ(read.lines, "acedfgbhij");
  // When they are sent, not what they say.
  EXPECT_EQ(read.times, (std::vector<int64_t>{0, 2, 4, 4, 5, 6, 6, 7, 8, 9}));
  EXPECT_EQ(read.originals, (std::map<std::string, uint64_t>{{"b", 1}, {"d", 3}}));
}

TEST(DisplacedEventsTest, OfTwoEqualOnesTheSecondIsTheDefect) {
  const Read read = All({{'c', {.kind = DefectKind::kDuplicate, .rows_later = 0}},
                         {'e', {.kind = DefectKind::kDuplicate, .rows_later = 2}}});
  EXPECT_EQ(read.lines, "abccdefgehij");
  EXPECT_EQ(read.originals, (std::map<std::string, uint64_t>{{"c", 2}, {"e", 4}}));
}

TEST(DisplacedEventsTest, DamagedOnesStandInTheirPlace) {
  const Read read = All({{'a', {.kind = DefectKind::kLate, .rows_later = 2}},
                         {'c', {.kind = DefectKind::kNull, .column = "amount"}}});
  EXPECT_EQ(read.lines, "bcadefghij");
  EXPECT_EQ(read.originals, (std::map<std::string, uint64_t>{{"a", 0}, {"c", 2}}));
}

TEST(DisplacedEventsTest, WhatStillWaitsComesAtTheEnd) {
  const Read read = All({{'h', {.kind = DefectKind::kLate, .rows_later = 500}},
                         {'i', {.kind = DefectKind::kLate, .rows_later = 100}}});
  EXPECT_EQ(read.lines, "abcdefgjih");
}

TEST(DisplacedEventsTest, HowManyAreAskedForDoesNotMatter) {
  const std::map<char, EventDefect> defects = {
      {'a', {.kind = DefectKind::kLate, .rows_later = 3}},
      {'b', {.kind = DefectKind::kDuplicate, .rows_later = 1}},
      {'f', {.kind = DefectKind::kLate, .rows_later = 100}}};
  const std::string wanted = All(defects).lines;
  for (std::size_t most = 1; most < 13; ++most) {
    for (std::size_t at_once = 1; at_once < 12; at_once += 5) {
      EXPECT_EQ(All(defects, most, at_once).lines, wanted) << most << ", " << at_once;
    }
  }
}

}  // namespace
}  // namespace reveza::datagen

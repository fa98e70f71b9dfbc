// What happened in a table of events: payments or rides. Counts as its rows go by, in bounded
// memory. Not safe from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "datagen/batch.h"
#include "datagen/report/counts.h"
#include "datagen/report/people.h"
#include "datagen/report/separation.h"
#include "datagen/schema.h"

namespace reveza::datagen::report {

// Which columns of a table of events are what.
struct EventTable {
  std::string_view name;
  std::string_view time;
  std::string_view amount;
  std::string_view customer;
  std::vector<std::string_view> shown;  // categories that have a picture
};
// Transactions, then rides.
const std::vector<EventTable>& EventTables();

// Until a fraud is reported: less than so many hours; then later ones, then those that never were.
inline constexpr std::array<int64_t, 8> kDelayHours = {1, 6, 24, 72, 168, 336, 720, 1'440};
inline constexpr std::size_t kDelays = kDelayHours.size() + 2;

struct FraudType {
  std::string_view name;
  uint64_t rows = 0;
  int64_t centavos = 0;
  std::array<uint64_t, kDelays> delays = {};
};

struct Category {
  const Column* column = nullptr;
  std::vector<Pair> values;  // in the order of the column's
};

struct Separation {
  std::string_view column;  // empty: the hour of the day
  const Column* described = nullptr;
  double area = 0.5;
};

class Events {
 public:
  // Both must outlive it.
  Events(const EventTable& events, const Table& table);

  // `people` is told what its customers did.
  void Look(const Batch& batch, People& people);

  const EventTable& events() const { return events_; }
  const Pair& rows() const { return rows_; }
  const Amounts& amounts() const { return amounts_; }
  const Days& days() const { return days_; }
  // By weekday from Monday, then hour.
  const std::array<Pair, 7 * 24>& hours() const { return hours_; }
  const std::vector<Category>& categories() const { return categories_; }
  // Those that occur, the most frequent first.
  std::vector<FraudType> FraudTypes() const;
  // Whether the table says when frauds were reported.
  bool has_delays() const { return has_delays_; }
  // Honest rows that were reported all the same.
  uint64_t false_reports() const { return false_reports_; }
  // Of each column that is no text and no label, and of the hour; the best first.
  std::vector<Separation> Separations() const;

 private:
  struct Numbers {
    std::size_t column;
    NumberSeparation separation;
  };
  struct Classes {
    std::size_t column;
    CategorySeparation separation;
  };
  void LookAtTimes(const Batch& batch);
  void LookAtFrauds(const Batch& batch);
  void LookAtColumns(const Batch& batch);

  const EventTable& events_;
  const Table& table_;
  bool has_delays_;
  Pair rows_;
  Amounts amounts_;
  Days days_;
  std::array<Pair, 7 * 24> hours_{};
  CategorySeparation by_hour_{24};
  std::vector<Category> categories_;
  std::vector<FraudType> fraud_types_;  // all that may be
  uint64_t false_reports_ = 0;
  std::vector<Numbers> numbers_;
  std::vector<Classes> classes_;
  std::vector<uint8_t> frauds_;  // of the batch: whether each row is one
};

}  // namespace reveza::datagen::report

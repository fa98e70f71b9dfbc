// Statistics of a table of events (transactions or rides) and of customers by state, collected in
// one pass with bounded memory. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fraudgen/lists/places.h"
#include "fraudgen/report/counts.h"
#include "fraudgen/report/separation.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen::report {

// The states of customers, to map their events.
class People {
 public:
  using ByState = std::array<Pair, lists::kStates.size()>;

  // Above this number, customers are sampled. Each takes about 40 bytes.
  static constexpr uint64_t kMaxKept = 2'000'000;

  // `customers` is their total number.
  explicit People(uint64_t customers) : sampling_((customers + kMaxKept - 1) / kMaxKept) {}

  void AddCustomers(const Batch& customers);
  // Counts an event of a customer.
  void Count(std::string_view customer_id, bool is_fraud) {
    if (const State* state = StateOf(customer_id)) events_[*state].Add(is_fraud);
  }

  // By the index into lists::kStates.
  const std::array<uint64_t, lists::kStates.size()>& customers() const { return customers_; }
  const ByState& events() const { return events_; }
  // Returns true if events() covers only a sample of the customers.
  bool sampled() const { return sampling_ > 1; }

 private:
  using State = uint8_t;
  const State* StateOf(std::string_view customer_id) const;

  uint64_t sampling_;
  std::unordered_map<uint64_t, State> states_;
  std::array<uint64_t, lists::kStates.size()> customers_{};
  ByState events_{};
};

// The columns of a table of events.
struct EventTable {
  std::string_view name;
  std::string_view time;
  std::string_view amount;
  std::string_view customer;
  std::vector<std::string_view> shown;  // categories with a chart
};
// Returns transactions and rides.
const std::vector<EventTable>& EventTables();

class Events {
 public:
  // Both arguments must outlive it.
  Events(const EventTable& events, const Table& table);

  // Adds rows, and counts their customers in `people`.
  void Add(const Batch& batch, People& people);

  // Returns the statistics. `by_state` are the events of customers by state.
  Json ToJson(const People::ByState& by_state) const;

 private:
  // Upper bounds in hours of the time until a fraud is reported; then later, then never.
  static constexpr std::array<int64_t, 8> kDelayHours = {1, 6, 24, 72, 168, 336, 720, 1'440};
  static constexpr std::size_t kDelays = kDelayHours.size() + 2;

  struct FraudType {
    uint64_t rows = 0;
    int64_t centavos = 0;
    std::array<uint64_t, kDelays> delays = {};
  };
  struct Category {
    const Column* column = nullptr;
    std::vector<Pair> values;  // in the order of the column's values
  };
  template <typename Separation>
  struct Separated {
    std::size_t column;
    Separation separation;
  };
  void CountTimes(const Batch& batch);
  void CountFrauds(const Batch& batch);
  void CountColumns(const Batch& batch);
  Json CategoriesJson() const;
  // The fraud types that occur, most frequent first.
  Json FraudTypesJson() const;
  // The separation by each column that is not text or a label, and by hour; best first.
  Json SeparationsJson() const;

  const EventTable& events_;
  const Table& table_;
  bool has_delays_;  // the table has report times
  Pair rows_;
  Amounts amounts_;
  Days days_;
  std::array<Pair, 7 * 24> hours_{};  // by weekday from Monday, then hour
  CategorySeparation by_hour_{24};
  std::vector<Category> categories_;
  std::map<std::string, FraudType, std::less<>> fraud_types_;
  uint64_t false_reports_ = 0;  // honest rows that were reported
  std::vector<Separated<NumberSeparation>> numbers_;
  std::vector<Separated<CategorySeparation>> classes_;
  std::vector<uint8_t> frauds_;  // by row of the batch
};

}  // namespace reveza::fraudgen::report

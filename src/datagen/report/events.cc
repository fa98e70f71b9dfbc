#include "datagen/report/events.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "datagen/check/table_check.h"
#include "datagen/civil_time.h"

namespace reveza::datagen::report {
namespace {

using check::Field;

constexpr int64_t kMicrosecondsPerHour = 3'600 * kMicrosecondsPerSecond;

const Column* Find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &Column::name);
  return found == table.columns.end() ? nullptr : &*found;
}

// The truth, and what says it in other words. A score that is called fraud_score is no label.
bool IsLabel(const Column& column) {
  return column.name == "is_fraud" ||
         (column.name.starts_with("fraud_") && column.type != ColumnType::kDecimal &&
          column.type != ColumnType::kInteger);
}

int64_t FloorDivide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

}  // namespace

const std::vector<EventTable>& EventTables() {
  static const std::vector<EventTable> tables = {
      {.name = "transactions",
       .time = "timestamp",
       .amount = "amount",
       .customer = "customer_id",
       .shown = {"type", "channel", "merchant_category"}},
      {.name = "rides",
       .time = "timestamp",
       .amount = "final_fare",
       .customer = "passenger_id",
       .shown = {"app", "category", "payment_method", "status"}}};
  return tables;
}

Events::Events(const EventTable& events, const Table& table)
    : events_(events), table_(table), has_delays_(Find(table, "fraud_reported_at") != nullptr) {
  for (const std::string_view name : events.shown) {
    const Column* column = Find(table, name);
    if (column == nullptr || column->type != ColumnType::kCategory) continue;
    categories_.push_back({.column = column, .values = std::vector<Pair>(column->values.size())});
  }
  for (const std::string_view name : Find(table, "fraud_type")->values) {
    fraud_types_.push_back({.name = name});
  }
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    if (IsLabel(column)) continue;
    switch (column.type) {
      case ColumnType::kInteger:
      case ColumnType::kDecimal:
        numbers_.push_back({.column = i, .separation = {}});
        break;
      case ColumnType::kCategory:
        if (column.values.size() < 2) break;  // there is nothing to tell apart
        classes_.push_back({.column = i, .separation = CategorySeparation(column.values.size())});
        break;
      case ColumnType::kBoolean:
        classes_.push_back({.column = i, .separation = CategorySeparation(2)});
        break;
      case ColumnType::kText:
      case ColumnType::kDate:
      case ColumnType::kTimestamp:
        break;
    }
  }
}

void Events::Look(const Batch& batch, People& people) {
  const Field labels(batch, "is_fraud"), customers(batch, events_.customer);
  const Field amounts(batch, events_.amount);
  frauds_.resize(batch.rows());
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const bool fraud = labels.Has(row) && labels.Flag(row);
    frauds_[row] = fraud ? 1 : 0;
    rows_.Add(fraud);
    if (amounts.Has(row)) amounts_.Add(amounts.Number(row), fraud);
    if (customers.Has(row)) people.Count(customers.Text(row), fraud);
  }
  LookAtTimes(batch);
  LookAtFrauds(batch);
  LookAtColumns(batch);
  for (Category& category : categories_) {
    const Field field(batch, category.column->name);
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (field.Has(row)) category.values[field.Code(row)].Add(frauds_[row] != 0);
    }
  }
}

void Events::LookAtTimes(const Batch& batch) {
  const Field times(batch, events_.time);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!times.Has(row)) continue;
    const int64_t time = times.Number(row);
    const int64_t day = FloorDivide(time, kMicrosecondsPerDay);
    const auto hour =
        static_cast<std::size_t>((time - day * kMicrosecondsPerDay) / kMicrosecondsPerHour);
    const auto weekday = static_cast<std::size_t>(WeekdayOf(day));
    days_.Add(day, frauds_[row] != 0);
    hours_[weekday * 24 + hour].Add(frauds_[row] != 0);
    by_hour_.Add(hour, frauds_[row] != 0);
  }
}

void Events::LookAtFrauds(const Batch& batch) {
  const Field types(batch, "fraud_type"), amounts(batch, events_.amount);
  const Field times(batch, events_.time);
  // Where the table has no reports, any column will do: it is not asked.
  const Field reports(batch, has_delays_ ? "fraud_reported_at" : "is_fraud");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const bool reported = has_delays_ && reports.Has(row);
    if (frauds_[row] == 0) {
      false_reports_ += reported ? 1 : 0;
      continue;
    }
    if (!types.Has(row)) continue;
    FraudType& type = fraud_types_[types.Code(row)];
    ++type.rows;
    if (amounts.Has(row)) type.centavos += amounts.Number(row);
    std::size_t delay = kDelays - 1;
    if (reported && times.Has(row)) {
      const int64_t hours =
          FloorDivide(reports.Number(row) - times.Number(row), kMicrosecondsPerHour);
      delay = static_cast<std::size_t>(std::ranges::upper_bound(kDelayHours, hours) -
                                       kDelayHours.begin());
    }
    ++type.delays[delay];
  }
}

void Events::LookAtColumns(const Batch& batch) {
  const std::size_t rows = batch.rows();
  for (Numbers& each : numbers_) {
    const ColumnValues& values = batch.column(each.column);
    for (std::size_t row = 0; row < rows; ++row) {
      if (batch.IsNull(each.column, row)) {
        each.separation.AddNull(frauds_[row] != 0);
      } else {
        each.separation.Add(values.numbers[row], frauds_[row] != 0);
      }
    }
  }
  for (Classes& each : classes_) {
    const ColumnValues& values = batch.column(each.column);
    const bool flags = table_.columns[each.column].type == ColumnType::kBoolean;
    for (std::size_t row = 0; row < rows; ++row) {
      if (batch.IsNull(each.column, row)) {
        each.separation.AddNull(frauds_[row] != 0);
      } else {
        const std::size_t value = flags ? values.flags[row] : values.codes[row];
        each.separation.Add(value, frauds_[row] != 0);
      }
    }
  }
}

std::vector<FraudType> Events::FraudTypes() const {
  std::vector<FraudType> found;
  std::ranges::copy_if(fraud_types_, std::back_inserter(found),
                       [](const FraudType& type) { return type.rows != 0; });
  std::ranges::sort(found, [](const FraudType& a, const FraudType& b) {
    return std::tuple(b.rows, a.name) < std::tuple(a.rows, b.name);
  });
  return found;
}

std::vector<Separation> Events::Separations() const {
  std::vector<Separation> found = {
      {.column = {}, .described = Find(table_, events_.time), .area = by_hour_.Area()}};
  const auto add = [&](const auto& all) {
    for (const auto& each : all) {
      const Column& column = table_.columns[each.column];
      found.push_back(
          {.column = column.name, .described = &column, .area = each.separation.Area()});
    }
  };
  add(numbers_);
  add(classes_);
  std::ranges::sort(found, [](const Separation& a, const Separation& b) {
    return std::tuple(b.area, a.column) < std::tuple(a.area, b.column);
  });
  return found;
}

}  // namespace reveza::datagen::report

#include "fraudgen/report/events.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "fraudgen/schema/field.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::report {
namespace {

const Column* Find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &Column::name);
  return found == table.columns.end() ? nullptr : &*found;
}

// Labels and columns derived from them. fraud_score is a score, not a label.
bool IsLabel(const Column& column) {
  return column.name == "is_fraud" ||
         (column.name.starts_with("fraud_") && column.type != ColumnType::kDecimal &&
          column.type != ColumnType::kInteger);
}

int64_t FloorDivide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

// Hashes identifiers, which are consecutive in the classic model.
uint64_t Mixed(uint64_t number) { return (number * 0x9e3779b97f4a7c15u) >> 24; }

Json Described(std::string_view name, const Column& column) {
  return {{"column", name}, {"en", column.english}, {"pt", column.portuguese}};
}

}  // namespace

void People::AddCustomers(const Batch& customers) {
  const Field ids(customers, "customer_id");
  const Field states(customers, "address.state");
  for (std::size_t row = 0; row < customers.rows(); ++row) {
    if (!ids.Has(row) || !states.Has(row)) continue;
    const auto found = std::ranges::find(lists::kStates, states.Value(row), &lists::State::code);
    if (found == lists::kStates.end()) continue;
    const auto state = static_cast<State>(found - lists::kStates.begin());
    ++customers_[state];
    const uint64_t number = NumberOf(ids.Text(row));
    if (sampling_ <= 1 || Mixed(number) % sampling_ == 0) states_.emplace(number, state);
  }
}

const People::State* People::StateOf(std::string_view customer_id) const {
  const auto found = states_.find(NumberOf(customer_id));
  return found == states_.end() ? nullptr : &found->second;
}

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
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    if (IsLabel(column)) continue;
    switch (column.type) {
      case ColumnType::kInteger:
      case ColumnType::kDecimal:
        numbers_.push_back({.column = i, .separation = {}});
        break;
      case ColumnType::kCategory:
        if (column.values.size() < 2) break;  // constant column
        classes_.push_back({.column = i, .separation = CategorySeparation(column.values.size())});
        break;
      case ColumnType::kBoolean:
        classes_.push_back({.column = i, .separation = CategorySeparation(2)});
        break;
      default:
        break;
    }
  }
}

void Events::Add(const Batch& batch, People& people) {
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
  CountTimes(batch);
  CountFrauds(batch);
  CountColumns(batch);
  for (Category& category : categories_) {
    const Field field(batch, category.column->name);
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (field.Has(row)) category.values[field.Code(row)].Add(frauds_[row] != 0);
    }
  }
}

void Events::CountTimes(const Batch& batch) {
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

void Events::CountFrauds(const Batch& batch) {
  const Field types(batch, "fraud_type"), amounts(batch, events_.amount);
  const Field times(batch, events_.time);
  // Without report times, any column will do: it is not used.
  const Field reports(batch, has_delays_ ? "fraud_reported_at" : "is_fraud");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const bool reported = has_delays_ && reports.Has(row);
    if (frauds_[row] == 0) {
      false_reports_ += reported ? 1 : 0;
      continue;
    }
    if (!types.Has(row)) continue;
    // Of rides a category, of payments a text.
    const bool category = types.column().type == ColumnType::kCategory;
    FraudType& type = fraud_types_[std::string(category ? types.Value(row) : types.Text(row))];
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

void Events::CountColumns(const Batch& batch) {
  const std::size_t rows = batch.rows();
  const auto count = [&](auto& all, auto value_of) {
    for (auto& each : all) {
      for (std::size_t row = 0; row < rows; ++row) {
        if (batch.IsNull(each.column, row)) {
          each.separation.AddNull(frauds_[row] != 0);
        } else {
          each.separation.Add(value_of(each.column, row), frauds_[row] != 0);
        }
      }
    }
  };
  count(numbers_,
        [&](std::size_t column, std::size_t row) { return batch.column(column).numbers[row]; });
  count(classes_, [&](std::size_t column, std::size_t row) -> std::size_t {
    const bool flag = table_.columns[column].type == ColumnType::kBoolean;
    return flag ? batch.column(column).flags[row] : batch.column(column).codes[row];
  });
}

Json Events::CategoriesJson() const {
  Json json = Json::array();
  for (const Category& category : categories_) {
    Json values = Json::array();
    for (std::size_t i = 0; i < category.values.size(); ++i) {
      const Pair& pair = category.values[i];
      if (pair.all() == 0) continue;
      values.push_back(
          {{"value", category.column->values[i]}, {"honest", pair.honest}, {"fraud", pair.fraud}});
    }
    Json described = Described(category.column->name, *category.column);
    described["values"] = std::move(values);
    json.push_back(std::move(described));
  }
  return json;
}

Json Events::FraudTypesJson() const {
  std::vector<std::pair<std::string_view, FraudType>> types(fraud_types_.begin(),
                                                            fraud_types_.end());
  std::ranges::stable_sort(
      types, [](const auto& a, const auto& b) { return a.second.rows > b.second.rows; });
  Json json = Json::array();
  for (const auto& [name, type] : types) {
    json.push_back({{"type", name},
                    {"rows", type.rows},
                    {"amount", Reais(static_cast<double>(type.centavos))},
                    {"delays", type.delays}});
  }
  return json;
}

Json Events::SeparationsJson() const {
  std::vector<std::tuple<double, std::string_view, const Column*>> areas = {
      {-by_hour_.Area(), "", Find(table_, events_.time)}};
  const auto add = [&](const auto& all) {
    for (const auto& each : all) {
      const Column& column = table_.columns[each.column];
      areas.emplace_back(-each.separation.Area(), column.name, &column);
    }
  };
  add(numbers_);
  add(classes_);
  std::ranges::sort(areas);
  Json json = Json::array();
  for (const auto& [negative_area, name, column] : areas) {
    json.push_back(Described(name, *column));
    json.back()["area"] = -negative_area;
  }
  return json;
}

Json Events::ToJson(const People::ByState& by_state) const {
  Json days = Json::array();
  for (const auto& [day, pair] : days_.all()) {
    days.push_back(Json::array({FormatDate(DateOf(day)), pair.honest, pair.fraud}));
  }
  return {{"table", events_.name},           {"rows", rows_.all()},
          {"frauds", rows_.fraud},           {"days", days},
          {"hours", PairsJson(hours_)},      {"amounts", amounts_.ToJson(rows_)},
          {"categories", CategoriesJson()},  {"states", PairsJson(by_state)},
          {"fraud_types", FraudTypesJson()}, {"has_delays", has_delays_},
          {"delay_hours", kDelayHours},      {"false_reports", false_reports_},
          {"separation", SeparationsJson()}};
}

}  // namespace reveza::fraudgen::report

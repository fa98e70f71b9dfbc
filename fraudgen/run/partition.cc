#include "fraudgen/run/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "common/base/nearest.h"
#include "fraudgen/schema/schema_coherent.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen {
namespace {

constexpr std::array<std::string_view, 3> kDayKeys = {"year", "month", "day"};
constexpr std::string_view kTimeColumn = "timestamp";
constexpr std::size_t kMaxKeys = 4;

bool IsDayKey(std::string_view name) { return std::ranges::find(kDayKeys, name) != kDayKeys.end(); }

bool IsValidKey(const Column& column) {
  return column.type == ColumnType::kCategory || column.type == ColumnType::kBoolean;
}

std::optional<std::size_t> Find(const Table& table, std::string_view flat_name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (FlatName(table.columns[i]) == flat_name) return i;
  }
  return std::nullopt;
}

// Returns all column names of all tables, mapped to whether they can be partition keys.
std::map<std::string, bool, std::less<>> KnownNames() {
  std::map<std::string, bool, std::less<>> names;
  for (const std::string_view key : kDayKeys) names[std::string(key)] = true;
  for (const auto& tables : {AllTables(), coherent::Tables()}) {
    for (const Table* table : tables) {
      for (const Column& column : table->columns) names[FlatName(column)] |= IsValidKey(column);
    }
  }
  return names;
}

std::string PartOfDay(std::string_view key, CivilDate date) {
  if (key == "year") return fmt::format("year={:04}", date.year);
  if (key == "month") return fmt::format("month={:02}", date.month);
  return fmt::format("day={:02}", date.day);
}

// Returns the parts of folder names that say the day.
std::vector<std::string> PartsOfDay(std::span<const std::string> keys, int64_t day) {
  std::vector<std::string> parts;
  for (const std::string& key : keys) {
    if (IsDayKey(key)) parts.push_back(PartOfDay(key, DateOf(day)));
  }
  return parts;
}

}  // namespace

Result<std::vector<std::string>> ParsePartition(std::string_view text) {
  static const auto kKnown = KnownNames();
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string name(text.substr(begin, comma - begin));
    begin = comma + 1;
    const auto known = kKnown.find(name);
    if (known == kKnown.end()) {
      std::vector<std::string_view> all;
      for (const auto& [each, may] : kKnown) {
        if (may) all.emplace_back(each);
      }
      const auto nearest = Nearest(name, all);
      return InvalidArgument(
          "unknown column '{}'; {}expected year,month or a category such as address_state", name,
          nearest ? fmt::format("did you mean '{}'? ", *nearest) : "");
    }
    if (!known->second) {
      return InvalidArgument(
          "{} has too many values for a partition key; expected year,month or a category such as "
          "address_state",
          name);
    }
    if (std::ranges::find(names, name) != names.end()) {
      return InvalidArgument("{} is listed twice", name);
    }
    names.push_back(name);
  }
  if (names.size() > kMaxKeys) {
    return InvalidArgument("{} keys are too many; the maximum is {}", names.size(), kMaxKeys);
  }
  const auto first_value = std::ranges::find_if_not(names, IsDayKey);
  if (std::any_of(first_value, names.end(), IsDayKey)) {
    return InvalidArgument("year, month and day must come before other keys");
  }
  return names;
}

Status CheckPeriod(const PartitionKeys& keys) {
  std::set<std::vector<std::string>> seen;
  std::vector<std::string> last;
  for (int64_t day = keys.first_day; day <= keys.last_day; ++day) {
    std::vector<std::string> parts = PartsOfDay(keys.names, day);
    if (parts == last) continue;
    if (!seen.insert(parts).second) {
      return InvalidArgument(
          "partition: {} occurs twice in the period; start the keys with year,month",
          fmt::join(parts, " "));
    }
    last = std::move(parts);
  }
  return {};
}

Result<std::shared_ptr<const TablePartition>> TablePartition::Make(const Table& table,
                                                                   const PartitionKeys& keys) {
  if (keys.names.empty()) return nullptr;
  std::shared_ptr<TablePartition> made(new TablePartition(table));
  for (const std::string& name : keys.names) {
    const auto column = Find(table, IsDayKey(name) ? kTimeColumn : name);
    if (!column) return nullptr;
    made->keys_.push_back(name);
    if (IsDayKey(name)) {
      made->time_column_ = column;
    } else if (IsValidKey(table.columns[*column])) {
      made->AddValue(*column);
    } else {
      return nullptr;
    }
  }
  if (made->time_column_) {
    made->AddDays(keys);
  }
  if (made->per_span_ > kMaxOpen) {
    return InvalidArgument(
        "partition: {} would have {} open folders; the maximum is {}; remove a key", table.name,
        made->per_span_, kMaxOpen);
  }
  if (made->folders() > kMaxFolders) {
    return InvalidArgument(
        "partition: {} would have {} folders; the maximum is {}; remove a key or shorten the "
        "period",
        table.name, made->folders(), kMaxFolders);
  }
  made->DropKeyColumns();
  return made;
}

void TablePartition::AddDays(const PartitionKeys& keys) {
  first_day_ = keys.first_day;
  spans_.clear();
  for (int64_t day = keys.first_day; day <= keys.last_day && spans_.size() <= kMaxFolders; ++day) {
    std::vector<std::string> parts = PartsOfDay(keys_, day);
    if (spans_.empty() || parts != spans_.back()) spans_.push_back(std::move(parts));
    span_of_day_.push_back(static_cast<uint32_t>(spans_.size() - 1));
  }
}

void TablePartition::AddValue(std::size_t column) {
  const Column& its = table_->columns[column];
  Value value;
  value.column = column;
  value.values = its.type == ColumnType::kBoolean ? 2 : its.values.size();
  if (its.nullable == Nullable::kYes) ++value.values;
  for (Value& before : values_) before.times *= value.values;
  value.times = 1;
  per_span_ *= value.values;
  values_.push_back(value);
}

void TablePartition::DropKeyColumns() {
  for (std::size_t i = 0; i < table_->columns.size(); ++i) {
    if (std::ranges::find(values_, i, &Value::column) != values_.end()) continue;
    columns_.push_back(table_->columns[i]);
    sources_.push_back(i);
  }
  stored_ = *table_;
  stored_.columns = columns_;
}

std::string TablePartition::ValueOf(const Value& value, std::size_t code) const {
  const Column& column = table_->columns[value.column];
  std::string text = FlatName(column) + "=";
  if (column.type == ColumnType::kBoolean) {
    text += code == 2 ? kNullPartition : code == 1 ? "true" : "false";
  } else {
    text += code == column.values.size() ? std::string(kNullPartition)
                                         : EscapePartition(column.values[code]);
  }
  return text;
}

std::string TablePartition::NameOf(std::size_t folder) const {
  std::string name(table_->name);
  for (const std::string& part : spans_[SpanOf(folder)]) name += "/" + part;
  for (const Value& value : values_) {
    name += '/';
    name += ValueOf(value, folder / value.times % value.values);
  }
  return name;
}

Status TablePartition::FoldersOf(const Batch& batch, std::vector<uint32_t>& folders) const {
  folders.assign(batch.rows(), 0);
  if (time_column_) {
    const std::vector<int64_t>& times = batch.column(*time_column_).numbers;
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const int64_t day = times[row] / kMicrosecondsPerDay - first_day_;
      if (day < 0 || day >= static_cast<int64_t>(span_of_day_.size())) {
        return Fail(Error::Code::kInternal, "{} has a row outside the requested days",
                    table_->name);
      }
      folders[row] = span_of_day_[static_cast<std::size_t>(day)] * static_cast<uint32_t>(per_span_);
    }
  }
  for (const Value& value : values_) {
    const Column& column = table_->columns[value.column];
    const ColumnValues& cells = batch.column(value.column);
    const auto times = static_cast<uint32_t>(value.times);
    const auto null = static_cast<uint32_t>(value.values - 1);
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const uint32_t code =
          column.type == ColumnType::kBoolean ? cells.flags[row] : cells.codes[row];
      folders[row] += times * (batch.IsNull(value.column, row) ? null : code);
    }
  }
  return {};
}

std::string EscapePartition(std::string_view value) {
  std::string text;
  for (const char c : value) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.';
    if (plain) {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::string UnescapePartition(std::string_view text) {
  const auto digit = [](char c) {
    const std::size_t found = std::string_view("0123456789ABCDEF").find(c);
    return found == std::string_view::npos ? -1 : static_cast<int>(found);
  };
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      value += static_cast<char>(16 * digit(text[i + 1]) + digit(text[i + 2]));
      i += 2;
    } else {
      value += text[i];
    }
  }
  return value;
}

}  // namespace reveza::fraudgen

#include "datagen/stream/event_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace reveza::datagen {
namespace {

std::optional<std::size_t> Find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &Column::name);
  if (found == table.columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - table.columns.begin());
}

}  // namespace

Result<EventTable> EventTable::Of(const Table& table, EventKey key) {
  const bool rides = table.name == "rides";
  const auto time = Find(table, "timestamp");
  const auto id = Find(table, rides ? "ride_id" : "transaction_id");
  const auto customer = Find(table, rides ? "passenger_id" : "customer_id");
  if (!time || !id || !customer) {
    return Fail(
        Error::Code::kInvalidArgument,
        fmt::format("the rows of {} are no events; take transactions or rides", table.name));
  }
  return EventTable{.table = &table,
                    .time = *time,
                    .id = *id,
                    .key = key == EventKey::kRow ? *id : *customer,
                    .has_key = key != EventKey::kNone};
}

}  // namespace reveza::datagen

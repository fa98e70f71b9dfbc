// Which columns of a table make its rows events. Values, so safe from any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "datagen/schema.h"

namespace reveza::datagen {

enum class EventKey { kCustomer, kRow, kNone };

struct EventTable {
  const Table* table = nullptr;
  std::size_t time = 0;
  std::size_t id = 0;
  // Whose events stay in order. With kNone it is not looked at.
  std::size_t key = 0;
  bool has_key = true;

  // Of transactions or rides.
  static Result<EventTable> Of(const Table& table, EventKey key);
};

}  // namespace reveza::datagen

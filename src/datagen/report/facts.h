// All that a report shows of a data set, and how it is found: every row goes by once, in bounded
// memory. Not safe from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "datagen/output/manifest.h"
#include "datagen/report/chain.h"
#include "datagen/report/events.h"
#include "datagen/report/people.h"
#include "datagen/schema.h"

namespace reveza::datagen::report {

struct TableFacts {
  const Table* table = nullptr;
  uint64_t files = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

struct EventFacts {
  std::unique_ptr<Events> events;
  std::array<Pair, lists::kStates.size()> by_state{};
};

struct Facts {
  std::string name;  // of the folder
  MadeBy made_by;
  bool whole = false;                  // manifest.json is there
  std::optional<uint32_t> difficulty;  // thousandths; of the coherent model, where it is known
  std::vector<TableFacts> tables;      // those that have files
  std::vector<EventFacts> events;      // of transactions and rides, where there are any
  std::array<uint64_t, lists::kStates.size()> customers{};
  bool sampled = false;  // whether the states' events are those of some customers only
  std::string ring;      // whose chain it is
  std::vector<Hop> chain;
  uint64_t unreadable_values = 0;
  bool stopped = false;  // because it was told to; then the rest says nothing
};

// Called now and then; false: to stop.
using OnRows = std::function<bool(uint64_t rows)>;

// An error where there is no data set, or one of its files cannot be read.
Result<Facts> CollectFacts(const std::filesystem::path& folder, const OnRows& on_rows);

}  // namespace reveza::datagen::report

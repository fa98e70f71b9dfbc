// Folders for rows of equal values, as Hive lays tables out: transactions/year=2025/month=03/. The
// value is in the folder's name and not in the file again, unless it is part of a time. Immutable,
// so safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "datagen/batch.h"
#include "datagen/schema.h"

namespace reveza::datagen {

struct PartitionKeys {
  // year, month, day of the column `timestamp`, and flat names of categories and booleans; empty:
  // no folders.
  std::vector<std::string> names = {};
  // The days, as in civil_time.h, that rows may have.
  int64_t first_day = 0;
  int64_t last_day = 0;
};

// "year,month" or "type". Refuses what no table has and what has too many values.
Result<std::vector<std::string>> ParsePartition(std::string_view text);

class TablePartition {
 public:
  // So many folders of a table are enough to plan for.
  static constexpr std::size_t kMostFolders = 10'000;
  // Of one day, or where days are no key: so many files are written at a time.
  static constexpr std::size_t kMostOpen = 64;
  // Where rows are late on purpose: of few rows each, for only thousands are waited for.
  static constexpr std::size_t kMostOpenLate = 512;

  // Null where the table lacks one of the keys.
  static Result<std::shared_ptr<const TablePartition>> Make(const Table& table,
                                                            const PartitionKeys& keys);

  const Table& table() const { return *table_; }
  // What a file has: the columns that are no key.
  const Table& stored() const { return stored_; }
  // For each column of stored(), where it is in table().
  std::span<const std::size_t> sources() const { return sources_; }

  std::size_t folders() const { return spans_.size() * per_span_; }
  // "transactions/year=2025/month=03"
  std::string NameOf(std::size_t folder) const;
  // Folders of equal days are side by side, and those of later days behind them.
  std::size_t SpanOf(std::size_t folder) const { return folder / per_span_; }

  // The folder of each row; an error where a row is of a day that was not to be.
  Status FoldersOf(const Batch& batch, std::vector<uint32_t>& folders) const;

 private:
  struct Value {
    std::size_t column = 0;
    std::size_t values = 0;  // those of the column, and null if it may be
    std::size_t times = 0;   // how many folders lie between one value and the next
  };

  explicit TablePartition(const Table& table) : table_(&table) {}

  Status AddDays(const PartitionKeys& keys);
  void AddValue(std::size_t column);
  void LeaveOut();
  std::string ValueOf(const Value& value, std::size_t code) const;

  const Table* table_;
  std::vector<Column> columns_;
  std::vector<std::size_t> sources_;
  Table stored_ = {};
  std::vector<std::string> keys_;
  // Of each folder of days its part of the name; one that is empty where days are no key.
  std::vector<std::vector<std::string>> spans_ = {{}};
  std::size_t per_span_ = 1;
  std::vector<Value> values_;
  std::optional<std::size_t> time_column_;
  int64_t first_day_ = 0;
  std::vector<uint32_t> span_of_day_;
};

// As Hive writes a value into a folder's name: what is no letter, digit, dot, dash or underscore
// as %20.
std::string EscapePartition(std::string_view value);
std::string UnescapePartition(std::string_view text);

// What stands for a null.
inline constexpr std::string_view kNullPartition = "__HIVE_DEFAULT_PARTITION__";

}  // namespace reveza::datagen

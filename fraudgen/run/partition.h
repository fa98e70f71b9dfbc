// Hive partitioning: transactions/year=2025/month=03/. Values of category keys are only in folder
// names; timestamps are in the files too. Thread-safe: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

struct PartitionKeys {
  // year, month, day (of the column `timestamp`) and flat names of category and boolean columns;
  // empty: not partitioned.
  std::vector<std::string> names = {};
  // Range of days in the data, as in civil_time.h.
  int64_t first_day = 0;
  int64_t last_day = 0;
};

// Parses "year,month" or "type". kInvalidArgument: unknown columns, or columns with too many
// values.
Result<std::vector<std::string>> ParsePartition(std::string_view text);

// Validates the keys of days against the period; kInvalidArgument: two parts of the period have the
// same folder, such as one month of two years.
Status CheckPeriod(const PartitionKeys& keys);

class TablePartition {
 public:
  // Folders of a table.
  static constexpr std::size_t kMaxFolders = 10'000;
  // Files open at a time: the folders of a day, or all folders if days are not a key.
  static constexpr std::size_t kMaxOpen = 64;
  // The same where rows are displaced by defects.
  static constexpr std::size_t kMaxOpenLate = 512;

  // Returns null if the table lacks one of the keys. `keys` has passed CheckPeriod().
  // kInvalidArgument: too many folders.
  static Result<std::shared_ptr<const TablePartition>> Make(const Table& table,
                                                            const PartitionKeys& keys);

  const Table& table() const { return *table_; }
  // The table as stored in files, without the key columns.
  const Table& stored() const { return stored_; }
  // For each column of stored(), its index in table().
  std::span<const std::size_t> sources() const { return sources_; }

  std::size_t folders() const { return spans_.size() * per_span_; }
  // "transactions/year=2025/month=03"
  std::string NameOf(std::size_t folder) const;
  // Folders with the same day keys form a span; spans are in order of time.
  std::size_t SpanOf(std::size_t folder) const { return folder / per_span_; }

  // Writes the folder of each row to `folders`. kInternal: a row's day is out of range.
  Status FoldersOf(const Batch& batch, std::vector<uint32_t>& folders) const;

 private:
  struct Value {
    std::size_t column = 0;
    std::size_t values = 0;  // including null if the column is nullable
    std::size_t times = 0;   // distance between the folders of consecutive values
  };

  explicit TablePartition(const Table& table) : table_(&table) {}

  void AddDays(const PartitionKeys& keys);
  void AddValue(std::size_t column);
  void DropKeyColumns();
  std::string ValueOf(const Value& value, std::size_t code) const;

  const Table* table_;
  std::vector<Column> columns_;
  std::vector<std::size_t> sources_;
  Table stored_ = {};
  std::vector<std::string> keys_;
  // The name parts of each span; one empty span if days are not a key.
  std::vector<std::vector<std::string>> spans_ = {{}};
  std::size_t per_span_ = 1;
  std::vector<Value> values_;
  std::optional<std::size_t> time_column_;
  int64_t first_day_ = 0;
  std::vector<uint32_t> span_of_day_;
};

// Percent-encodes everything but letters, digits, dots, dashes and underscores, as Hive does in
// folder names; and decodes it.
std::string EscapePartition(std::string_view value);
std::string UnescapePartition(std::string_view text);

// Folder value of null.
inline constexpr std::string_view kNullPartition = "__HIVE_DEFAULT_PARTITION__";

}  // namespace reveza::fraudgen

// Schema, rows and checksums of the journal. Private to the journal.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/sqlite/sqlite.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

using sqlite::Database;
using sqlite::Statement;

inline constexpr std::int64_t kJournalApplicationId = 0x52565A4A;  // "RVZJ"
inline constexpr std::int64_t kJournalVersion = 2;

// Checks that the database is a journal of this version.
Status CheckFormat(Database& database, const std::filesystem::path& file);
// Creates the schema of an empty database, or verifies an existing one.
Status PrepareFormat(Database& database, const std::filesystem::path& file);

// The index of steps by identity, which need not be there while the table is filled. Dropping does
// nothing in a journal whose table declares it, as those of earlier versions do.
Status DropIdentityIndex(Database& database);
Status CreateIdentityIndex(Database& database);

// Hashes packed bytes.
std::int64_t ChecksumOf(std::string_view packed);

// Returns the checksum of a row: of the fields before `sum`.
template <typename Row>
std::int64_t Checksum(const Row& row) {
  return ChecksumOf(Packer().Add(row).bytes());
}

template <std::size_t N>
std::string_view AsStringView(const std::array<std::uint8_t, N>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A row of `meta`.
struct MetaRow {
  std::string key;
  std::string value;
};
auto Fields(MaybeConst<MetaRow> auto& row) { return std::tie(row.key, row.value); }

// Select the Fields() of a row, and its checksum.
inline constexpr const char* kStepColumns =
    "SELECT id, identity, state, attempts, label, files, sum FROM step ";
inline constexpr const char* kAttemptColumns =
    "SELECT identity, attempt, outcome, code, pid, began, ended, paused, user_time, system_time, "
    "largest_resident, output_bytes, error_bytes, peak, output_hash, boot, sequence, sum "
    "FROM attempt ";
inline constexpr const char* kCycleColumns =
    "SELECT identity, attempt, number, at, metrics, sum FROM cycle ";
inline constexpr const char* kMetaColumns = "SELECT key, value, sum FROM meta ";

// Binds a value, or the fields of a structure, from the parameter `index` on.
template <typename T>
void BindFields(Statement& statement, int& index, const T& value) {
  if constexpr (HasFields<const T>) {
    std::apply([&](const auto&... fields) { (BindFields(statement, index, fields), ...); },
               Fields(value));
  } else if constexpr (IsOptional<T>) {
    if (value) return BindFields(statement, index, *value);
    statement.BindNull(index++);
  } else if constexpr (IsText<T>) {
    statement.Bind(index++, std::string_view(value));
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    statement.Bind(index++, static_cast<std::int64_t>(value));
  } else {
    statement.BindBlob(index++, AsStringView(value));
  }
}

// Binds all parameters of a statement.
template <typename... T>
Statement& BindAll(Statement& statement, const T&... values) {
  int index = 1;
  (BindFields(statement, index, values), ...);
  return statement;
}

// Reads a value, or the fields of a structure, from `column` on.
template <typename T>
void ReadFields(const Statement& row, int& column, T& value) {
  if constexpr (HasFields<T>) {
    std::apply([&](auto&... fields) { (ReadFields(row, column, fields), ...); }, Fields(value));
  } else if constexpr (IsOptional<T>) {
    if (row.IsNull(column)) {
      ++column;
    } else {
      ReadFields(row, column, value.emplace());
    }
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = row.Text(column++);
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    value = static_cast<T>(row.Integer(column++));
  } else {
    const std::string_view blob = row.Blob(column++);
    std::copy_n(blob.begin(), std::min(blob.size(), value.size()), value.begin());
  }
}

// Names a row in errors.
inline std::string NameOf(const StepEntry& row) { return fmt::format("step {}", row.id); }
inline std::string NameOf(const AttemptEntry& row) {
  return fmt::format("attempt {}", row.sequence);
}
inline std::string NameOf(const CycleResult& row) { return fmt::format("cycle {}", row.number); }
inline std::string NameOf(const MetaRow& row) { return row.key; }

// Reads a row of a statement that selects the columns of its type. kIncompatible: checksum
// mismatch.
template <typename Row>
Result<Row> ReadRow(const Statement& statement) {
  int column = 0;
  Row row;
  ReadFields(statement, column, row);
  if (Checksum(row) == statement.Integer(column)) return row;
  return Fail(Error::Code::kIncompatible, "damaged row in the journal ({}): checksum mismatch",
              NameOf(row));
}

// Passes all rows to `take`, up to the first error.
template <typename Row, typename Take>
Status ForEachRow(Statement& statement, const Take& take) {
  for (;;) {
    ASSIGN_OR_RETURN(const auto more, statement.Step());
    if (!more) return {};
    auto row = ReadRow<Row>(statement);
    if (!row) statement.Reset();
    if (!row) return std::unexpected(row.error());
    take(*std::move(row));
  }
}

template <typename Row>
Result<std::vector<Row>> ReadRows(Statement& statement) {
  std::vector<Row> rows;
  RETURN_IF_ERROR(ForEachRow<Row>(statement, [&](Row row) { rows.push_back(std::move(row)); }));
  return rows;
}

// Verifies all rows of all tables. Lookups alone would miss rows with a damaged key.
Status CheckRows(Database& database);

}  // namespace reveza::jobs

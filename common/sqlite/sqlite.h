// RAII wrappers for SQLite that report errors as Result. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace reveza::sqlite {

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
struct CloseDatabase {
  void operator()(sqlite3* database) const;
};

// A reusable prepared statement: bind, step, read columns, reset.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Parameters are numbered from 1. Text and blobs must outlive Run(), or Step() until Reset().
  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, std::string_view text);
  Statement& BindBlob(int index, std::string_view bytes);
  Statement& BindNull(int index);

  // Returns true for a row; false at the end, when the statement has been reset.
  Result<bool> Step();
  // Runs a statement that returns no rows.
  Status Run();
  void Reset();

  // Columns are numbered from 0; views are valid until the next Step() or Reset().
  std::int64_t Integer(int column) const;
  bool IsNull(int column) const;
  std::string_view Text(int column) const;
  std::string_view Blob(int column) const;

 private:
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
};

// Returns whether the error concerns access (descriptors, memory, permissions, locks) rather than
// the contents of the file.
bool IsAccessError(const Error& error);

class Database {
 public:
  // Opens a database, creating it if necessary.
  static Result<Database> Open(const std::string& path);

  Status Execute(const std::string& sql);
  Result<Statement> Prepare(std::string_view sql);
  // Return the first column of a one-row query.
  Result<std::int64_t> Number(const std::string& sql);
  Result<std::string> Text(const std::string& sql);

  // Number of rows changed by the last statement.
  std::int64_t Changes() const;

  bool InTransaction() const;

  sqlite3* get() const { return database_.get(); }

 private:
  Result<Statement> OneRow(const std::string& sql);

  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

}  // namespace reveza::sqlite

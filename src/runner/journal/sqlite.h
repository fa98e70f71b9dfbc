// SQLite with owners and results instead of pointers and codes. Thread-safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace reveza::runner {

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
struct CloseDatabase {
  void operator()(sqlite3* database) const;
};

// One prepared statement, used again and again: bind, step, read, reset.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Parameters count from 1. Text and blobs are copied.
  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, double value);
  Statement& Bind(int index, std::string_view text);
  Statement& BindBlob(int index, std::string_view bytes);
  Statement& BindNull(int index);

  // True: there is a row. False: done, and ready for the next binding.
  Result<bool> Step();
  // For a statement without rows: runs it once.
  Status Run();
  void Reset();

  // Columns count from 0, and are valid until the next Step or Reset.
  std::int64_t Integer(int column) const;
  double Real(int column) const;
  bool IsNull(int column) const;
  std::string_view Text(int column) const;
  std::string_view Blob(int column) const;

 private:
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
};

// An error of whoever reads (no descriptor, no memory, no right to it, somebody else's lock): what
// is in the file it does not say.
bool IsOfTheReader(const Error& error);

class Database {
 public:
  // Creates the file when it is not there.
  static Result<Database> Open(const std::string& path);

  Status Execute(const std::string& sql);
  Result<Statement> Prepare(std::string_view sql);
  // The one number of a one-row query.
  Result<std::int64_t> Number(const std::string& sql);
  Result<std::string> Text(const std::string& sql);

  // Rows that the last statement has changed.
  std::int64_t Changes() const;

  bool InTransaction() const;

  sqlite3* get() const { return database_.get(); }

 private:
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

}  // namespace reveza::runner

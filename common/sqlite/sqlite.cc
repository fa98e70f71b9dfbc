#include "common/sqlite/sqlite.h"

#include <sqlite3.h>

namespace reveza::sqlite {
namespace {

std::unexpected<Error> ErrorFrom(sqlite3* database) {
  const int code = sqlite3_errcode(database) & 0xff;
  const auto kind = code == SQLITE_FULL || code == SQLITE_NOMEM ? Error::Code::kExhausted
                    : code == SQLITE_READONLY || code == SQLITE_PERM || code == SQLITE_CANTOPEN
                        ? Error::Code::kPermission
                    : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? Error::Code::kIncompatible
                    : code == SQLITE_BUSY || code == SQLITE_LOCKED    ? Error::Code::kUnavailable
                                                                      : Error::Code::kInternal;
  return Fail(kind, "{}", sqlite3_errmsg(database));
}

}  // namespace

bool IsAccessError(const Error& error) {
  return error.code == Error::Code::kExhausted || error.code == Error::Code::kPermission ||
         error.code == Error::Code::kUnavailable;
}

void FinalizeStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void CloseDatabase::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Statement& Statement::Bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
  return *this;
}

Statement& Statement::Bind(int index, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::BindBlob(int index, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(), SQLITE_STATIC);
  return *this;
}

Statement& Statement::BindNull(int index) {
  sqlite3_bind_null(statement_.get(), index);
  return *this;
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    Reset();
    return false;
  }
  auto failure = ErrorFrom(sqlite3_db_handle(statement_.get()));
  Reset();
  return failure;
}

Status Statement::Run() {
  ASSIGN_OR_RETURN(const auto row, Step());
  if (row) Reset();
  return {};
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::string_view Statement::Text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view Statement::Blob(int column) const {
  const auto* bytes = sqlite3_column_blob(statement_.get(), column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<Database> Database::Open(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) return ErrorFrom(raw);
  sqlite3_extended_result_codes(raw, 0);
  sqlite3_busy_timeout(raw, 5000);
  return database;
}

Status Database::Execute(const std::string& sql) {
  if (sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return ErrorFrom(get());
  }
  return {};
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                         &statement, nullptr) != SQLITE_OK) {
    return ErrorFrom(get());
  }
  return Statement(statement);
}

Result<std::int64_t> Database::Number(const std::string& sql) {
  ASSIGN_OR_RETURN(const auto statement, OneRow(sql));
  return statement.Integer(0);
}

Result<std::string> Database::Text(const std::string& sql) {
  ASSIGN_OR_RETURN(const auto statement, OneRow(sql));
  return std::string(statement.Text(0));
}

Result<Statement> Database::OneRow(const std::string& sql) {
  ASSIGN_OR_RETURN(auto statement, Prepare(sql));
  ASSIGN_OR_RETURN(const auto row, statement.Step());
  if (!row) return Fail(Error::Code::kNotFound, "no row: " + sql);
  return statement;
}

std::int64_t Database::Changes() const { return sqlite3_changes64(get()); }

bool Database::InTransaction() const { return sqlite3_get_autocommit(get()) == 0; }

}  // namespace reveza::sqlite

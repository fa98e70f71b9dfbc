#include "reveza/gpu/usage/store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <system_error>

namespace reveza::usage {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kVersion = 1;  // of the tables

std::int64_t SecondsOf(Hour hour) {
  return std::chrono::duration_cast<std::chrono::seconds>(hour.time_since_epoch()).count();
}

Hour HourOf(std::int64_t seconds) {
  return std::chrono::floor<std::chrono::hours>(
      std::chrono::sys_seconds(std::chrono::seconds(seconds)));
}

// Joins `text(name)` of all counters with commas.
template <typename Text>
std::string ForEachCounter(Text text) {
  std::string joined;
  for (const std::string_view name : kCounterNames) {
    joined += (joined.empty() ? "" : ", ") + text(name);
  }
  return joined;
}

Status Prepare(sqlite::Database& database) {
  // Rows are added by several daemons at a time, and a lost minute is no harm.
  RETURN_IF_ERROR(database.Execute("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = NORMAL"));
  RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  const std::string columns = ForEachCounter(
      [](std::string_view name) { return fmt::format("{} INTEGER NOT NULL", name); });
  RETURN_IF_ERROR(database.Execute(fmt::format(
      "CREATE TABLE IF NOT EXISTS usage (hour INTEGER NOT NULL, job TEXT NOT NULL, user INTEGER "
      "NOT NULL, name TEXT NOT NULL, {}, PRIMARY KEY (hour, job)) WITHOUT ROWID",
      columns)));
  const Hour now = std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now());
  RETURN_IF_ERROR(database.Execute(
      fmt::format("DELETE FROM usage WHERE hour < {}; PRAGMA user_version = {}; COMMIT",
                  SecondsOf(now - Store::kRetention), kVersion)));
  return {};
}

Status CheckVersion(sqlite::Database& database, const fs::path& file) {
  const auto version = database.Number("PRAGMA user_version");
  if (!version) {
    return Fail(version.error().code, "cannot use {}: {}", file.string(), version.error().message);
  }
  if (*version > kVersion) {
    return Fail(Error::Code::kIncompatible,
                "{} was made by a newer version of Reveza; use that, or another usage_file",
                file.string());
  }
  return {};
}

std::uint64_t JobOf(std::string_view text) {
  std::uint64_t job = 0;
  std::from_chars(text.data(), text.data() + text.size(), job, 16);
  return job;
}

}  // namespace

Result<fs::path> DefaultFile(const platform::Environment& environment) {
  ASSIGN_OR_RETURN(const auto folder, platform::StateHome(environment));
  return folder / "usage.db";
}

Result<Store> Store::Open(const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) {
    return Fail(Error::Code::kPermission, "cannot create {}: {}; set usage_file to a writable path",
                file.parent_path().string(), error.message());
  }
  auto database = sqlite::Database::Open(file);
  if (!database) {
    return Fail(database.error().code, "cannot open {}: {}; set usage_file to a writable path",
                file.string(), database.error().message);
  }
  RETURN_IF_ERROR(CheckVersion(*database, file));
  chmod(file.c_str(), 0640);  // names of programs may be confidential
  RETURN_IF_ERROR(Prepare(*database));
  return Store(*std::move(database));
}

Result<Store> Store::OpenToRead(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    return Fail(Error::Code::kNotFound,
                "no usage was recorded in {}; `reveza run` programs are, unless usage_file is off",
                file.string());
  }
  auto database = sqlite::Database::Open(file);
  if (!database) {
    return Fail(database.error().code, "cannot open {}: {}", file.string(),
                database.error().message);
  }
  RETURN_IF_ERROR(CheckVersion(*database, file));
  return Store(*std::move(database));
}

Status Store::Add(std::span<const HourlyUsage> usages) {
  RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE"));
  const auto add = [&]() -> Status {
    const std::string sql = fmt::format(
        "INSERT INTO usage (hour, job, user, name, {}) VALUES (?, ?, ?, ?, {}) ON CONFLICT (hour, "
        "job) DO UPDATE SET name = excluded.name, {}",
        ForEachCounter([](std::string_view name) { return std::string(name); }),
        ForEachCounter([](std::string_view) { return std::string("?"); }),
        ForEachCounter(
            [](std::string_view name) { return fmt::format("{0} = {0} + excluded.{0}", name); }));
    ASSIGN_OR_RETURN(auto insert, database_.Prepare(sql));
    for (const auto& [hour, usage] : usages) {
      const std::string job = fmt::format("{:016x}", usage.job);
      insert.Bind(1, SecondsOf(hour)).Bind(2, job);
      insert.Bind(3, static_cast<std::int64_t>(usage.user)).Bind(4, usage.name);
      for (std::size_t i = 0; i < kCounterNames.size(); ++i) {
        insert.Bind(static_cast<int>(5 + i), usage.counters[i]);
      }
      RETURN_IF_ERROR(insert.Run());
    }
    return database_.Execute("COMMIT");
  };
  auto added = add();
  if (!added && database_.InTransaction()) static_cast<void>(database_.Execute("ROLLBACK"));
  return added;
}

Result<std::vector<JobUsage>> Store::Since(Hour since) {
  ASSIGN_OR_RETURN(
      auto select,
      database_.Prepare(fmt::format(
          "SELECT job, user, name, min(hour), max(hour), {} FROM usage WHERE hour >= "
          "? GROUP BY job ORDER BY sum(gpu_ns) DESC, job",
          ForEachCounter([](std::string_view name) { return fmt::format("sum({})", name); }))));
  select.Bind(1, SecondsOf(since));
  std::vector<JobUsage> found;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return found;
    JobUsage& job = found.emplace_back();
    job.usage.job = JobOf(select.Text(0));
    job.usage.user = static_cast<uid_t>(select.Integer(1));
    job.usage.name = select.Text(2);
    job.first = HourOf(select.Integer(3));
    job.last = HourOf(select.Integer(4));
    for (std::size_t i = 0; i < kCounterNames.size(); ++i) {
      job.usage.counters[i] = select.Integer(static_cast<int>(5 + i));
    }
  }
}

}  // namespace reveza::usage

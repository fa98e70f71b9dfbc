#include "reveza/cli/reveza/usage_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pwd.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>

#include "common/base/parse_number.h"
#include "common/base/units.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/insight/monitor/json_view.h"

namespace reveza::cli {
namespace {

using std::chrono::sys_seconds;
using usage::Counter;

constexpr auto kDays = std::to_array<std::string_view>(
    {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"});
// Of the waits, in the order of their counters.
constexpr auto kReasons = std::to_array<std::string_view>(
    {"swapping in", "turns of others", "contexts", "GPU memory", "host memory",
     "work that does not drain", "the queue", "a hung process", "its pause"});
static_assert(kReasons.size() == scheduler::kWaitReasons);

tm LocalTime(sys_seconds when) {
  const time_t seconds = when.time_since_epoch().count();
  tm local{};
  localtime_r(&seconds, &local);
  return local;
}

sys_seconds FromLocalTime(tm local) {
  local.tm_isdst = -1;
  return sys_seconds(std::chrono::seconds(mktime(&local)));
}

// Returns the last midnight that is `days` before that of `now`.
sys_seconds Midnight(sys_seconds now, int days) {
  tm local = LocalTime(now);
  local.tm_mday -= days;
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  return FromLocalTime(local);
}

std::optional<sys_seconds> ParseDate(const std::string& text) {
  for (const char* format : {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"}) {
    tm local{};
    const char* const end = strptime(text.c_str(), format, &local);
    if (end != nullptr && *end == '\0') return FromLocalTime(local);
  }
  return std::nullopt;
}

std::optional<std::chrono::seconds> ParseAgo(std::string_view text) {
  for (const std::string_view unit : {"days", "day", "d"}) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    const auto days = ParseNumber<int>(text);
    if (!days || *days < 0 || *days > 100'000) return std::nullopt;
    return std::chrono::days(*days);
  }
  const auto duration = ParseDuration(text);
  if (!duration) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::seconds>(*duration);
}

std::string UserName(uid_t user) {
  const passwd* const entry = getpwuid(user);
  return entry != nullptr ? entry->pw_name : fmt::format("{}", user);
}

double Seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// Returns what the job waited for longest; empty if it did not wait.
std::string_view LongestWait(const usage::Counters& counters) {
  std::size_t longest = 0;
  for (std::size_t i = 1; i < kReasons.size(); ++i) {
    if (i + usage::kFirstWait == static_cast<std::size_t>(Counter::kPaused)) continue;
    if (counters[usage::kFirstWait + i] > counters[usage::kFirstWait + longest]) longest = i;
  }
  return counters[usage::kFirstWait + longest] > 0 ? kReasons[longest] : "";
}

std::string HourText(usage::Hour hour) {
  return fmt::format("{:%Y-%m-%dT%H:00:00Z}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(hour)));
}

}  // namespace

Result<sys_seconds> ParseSince(std::string_view text, sys_seconds now) {
  std::string word(text);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "today") return Midnight(now, 0);
  if (word == "yesterday") return Midnight(now, 1);
  if (const auto day = std::ranges::find(kDays, word); day != kDays.end()) {
    const int today = LocalTime(now).tm_wday;
    return Midnight(now, (today - static_cast<int>(day - kDays.begin()) + 7) % 7);
  }
  if (const auto date = ParseDate(std::string(text))) return *date;
  if (const auto ago = ParseAgo(text)) return now - *ago;
  return InvalidArgument(
      "'{}' is not a valid time; use today, yesterday, a day of the week, 2026-11-20, "
      "2026-11-20T14:30, or how long ago: 12h, 30d",
      text);
}

std::vector<UsageRow> SumByUser(std::span<const usage::JobUsage> jobs) {
  std::map<uid_t, UsageRow> users;
  for (const usage::JobUsage& job : jobs) {
    const auto [entry, fresh] = users.try_emplace(job.usage.user, UsageRow{.usage = job});
    if (fresh) continue;
    UsageRow& row = entry->second;
    row.usage.usage.counters += job.usage.counters;
    row.usage.first = std::min(row.usage.first, job.first);
    row.usage.last = std::max(row.usage.last, job.last);
    ++row.jobs;
  }
  std::vector<UsageRow> rows;
  for (auto& [user, row] : users) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater{}, [](const UsageRow& row) {
    return row.usage.usage.counters[Counter::kGpuTime];
  });
  return rows;
}

std::string UsageText(std::span<const UsageRow> rows, bool by_user) {
  std::string text =
      fmt::format("{:<20} {:<10} {:>11} {:>11} {:>9} {:>9} {:>7}  {}", by_user ? "JOBS" : "NAME",
                  "USER", "GPU TIME", "WAITED", "OUT", "IN", "TURNS", "MOST FOR");
  for (const UsageRow& row : rows) {
    const usage::Usage& used = row.usage.usage;
    const auto time = [&](std::int64_t value) {
      return FormatDuration(std::chrono::nanoseconds(value));
    };
    const auto bytes = [&](Counter counter) {
      return FormatBytes(static_cast<Bytes>(used.counters[counter]));
    };
    text += fmt::format("\n{:<20} {:<10} {:>11} {:>11} {:>9} {:>9} {:>7}  {}",
                        by_user ? FormatCount(row.jobs) : Shorten(used.name, 20),
                        Shorten(UserName(used.user), 10), time(used.counters[Counter::kGpuTime]),
                        time(used.counters.Waited()), bytes(Counter::kBytesOut),
                        bytes(Counter::kBytesIn), used.counters[Counter::kTurns],
                        LongestWait(used.counters));
    while (text.ends_with(' ')) text.pop_back();
  }
  return text;
}

nlohmann::ordered_json UsageJson(std::span<const UsageRow> rows, bool by_user) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const UsageRow& row : rows) {
    const usage::Usage& used = row.usage.usage;
    nlohmann::ordered_json entry;
    if (by_user) {
      entry["jobs"] = row.jobs;
    } else {
      entry["job"] = fmt::format("{:016x}", used.job);
      entry["name"] = used.name;
    }
    entry["user"] = UserName(used.user);
    entry["uid"] = used.user;
    entry["first_hour"] = HourText(row.usage.first);
    entry["last_hour"] = HourText(row.usage.last);
    for (std::size_t i = 0; i < usage::kCounterNames.size(); ++i) {
      const std::string_view name = usage::kCounterNames[i];
      if (name.ends_with("_ns")) {
        entry[std::string(name.substr(0, name.size() - 2)) + "s"] = Seconds(used.counters[i]);
      } else {
        entry[std::string(name)] = used.counters[i];
      }
    }
    list.push_back(std::move(entry));
  }
  return list;
}

std::string UsageCsv(std::span<const UsageRow> rows, bool by_user) {
  const UsageRow empty;
  const auto header = UsageJson(std::span(&empty, 1), by_user);
  std::string text;
  for (const auto& [key, value] : header[0].items()) text += (text.empty() ? "" : ",") + key;
  for (const auto& entry : UsageJson(rows, by_user)) {
    std::string line;
    for (const auto& [key, value] : entry.items()) {
      if (!line.empty()) line += ',';
      line += value.is_string() ? monitor::QuoteCsv(value.get<std::string>()) : value.dump();
    }
    text += "\r\n" + line;
  }
  return text;
}

}  // namespace reveza::cli

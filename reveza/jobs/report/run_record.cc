#include "reveza/jobs/report/run_record.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace reveza::jobs {
namespace {

using nlohmann::json;

// In the order of RunEnd.
constexpr std::array kEnds = {"done", "failed", "unknown", "halted", "goal met", "interrupted"};

}  // namespace

const char* ToText(RunEnd end) { return kEnds[static_cast<std::size_t>(end)]; }

std::string FormatRunRecord(const RunRecord& record) {
  return json{{"began", record.began},
              {"ended", record.ended},
              {"end", record.end ? json(ToText(*record.end)) : json()},
              {"reason", record.reason},
              {"skipped", record.skipped},
              {"waiting", record.waiting}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<RunRecord> ParseRunRecord(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto number = [&](const char* key) -> std::optional<std::int64_t> {
    const auto found = document.find(key);
    if (found == document.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
  };
  if (!document.is_object() || !number("began")) return std::nullopt;
  RunRecord record;
  record.began = *number("began");
  record.ended = number("ended").value_or(0);
  record.skipped = static_cast<std::uint64_t>(number("skipped").value_or(0));
  record.waiting = static_cast<std::uint64_t>(number("waiting").value_or(0));
  if (const auto reason = document.find("reason"); reason != document.end() && reason->is_string())
    record.reason = reason->get<std::string>();
  const auto end = document.find("end");
  if (end == document.end() || !end->is_string()) return record;
  const auto known = std::ranges::find(kEnds, end->get<std::string>());
  if (known == kEnds.end()) return std::nullopt;
  record.end = static_cast<RunEnd>(known - kEnds.begin());
  return record;
}

}  // namespace reveza::jobs

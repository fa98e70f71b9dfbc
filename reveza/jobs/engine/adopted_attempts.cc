#include "reveza/jobs/engine/adopted_attempts.h"

#include <algorithm>
#include <utility>

#include "reveza/jobs/supervisor/record.h"

namespace reveza::jobs {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);

// Returns the result of an attempt as the journal has it, else one of unknown outcome.
Result<AttemptResult> FindResult(Journal& journal, const AttemptName& name) {
  ASSIGN_OR_RETURN(const auto attempts, journal.Attempts(name.identity));
  const auto same = std::ranges::find_if(
      attempts, [&](const AttemptEntry& entry) { return entry.result.name == name; });
  if (same != attempts.end()) return same->result;
  AttemptResult result;
  result.name = name;
  return result;
}

}  // namespace

void AdoptedAttempts::Add(LiveAttempt attempt) {
  attempts_.push_back(std::move(attempt));
  next_poll_ = Nanoseconds{0};
}

AdoptedAttempts::Polled AdoptedAttempts::Poll(
    Nanoseconds now, Journal& journal, const std::function<bool(const Identity&)>& is_listed) {
  Polled polled;
  if (attempts_.empty() || now < next_poll_) return polled;
  next_poll_ = now + kPollInterval;
  for (auto& attempt : std::exchange(attempts_, {})) {
    const auto held = IsHeld(attempt.record.string());
    if (!held && std::exchange(last_error_, held.error().message) != held.error().message) {
      polled.notes.push_back(held.error().message);
    }
    // Assumed alive while its state cannot be determined.
    if (held.value_or(true)) {
      attempts_.push_back(std::move(attempt));
      continue;
    }
    ImportResult imported;
    if (auto done = ImportRecord(attempt.record, journal, imported); !done) {
      polled.errors.push_back(done.error());
      attempts_.push_back(std::move(attempt));
      continue;
    }
    if (!is_listed(attempt.name.identity)) continue;
    auto result = FindResult(journal, attempt.name);
    if (result) {
      polled.ended.push_back(*result);
    } else {
      polled.errors.push_back(result.error());
      attempts_.push_back(std::move(attempt));
    }
  }
  return polled;
}

}  // namespace reveza::jobs

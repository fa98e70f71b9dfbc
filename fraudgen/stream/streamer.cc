#include "fraudgen/stream/streamer.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/parse_number.h"

namespace reveza::fraudgen {
namespace {

constexpr uint64_t kMillion = 1'000'000;
constexpr uint64_t kMaxRate = 1'000'000'000;
constexpr uint64_t kMaxTimes = 100'000'000;

// Upper bound that cannot overflow when added to a clock time.
constexpr std::chrono::nanoseconds kNever = std::chrono::hours(24 * 365 * 100);

// Parses a decimal with at most six places, in millionths.
std::optional<uint64_t> Millionths(std::string_view text) {
  const std::size_t point = text.find('.');
  const auto whole = ParseNumber<uint64_t>(text.substr(0, point));
  if (!whole || *whole > kMaxRate) return std::nullopt;
  if (point == std::string_view::npos) return *whole * kMillion;
  std::string places(text.substr(point + 1));
  if (places.empty() || places.size() > 6) return std::nullopt;
  places.resize(6, '0');
  const auto part = ParseNumber<uint64_t>(places);
  if (!part) return std::nullopt;
  return *whole * kMillion + *part;
}

using std::chrono::nanoseconds;

constexpr std::size_t kMaxAtOnce = 1'024;
// Minimum pause; events that become due meanwhile are sent together.
constexpr nanoseconds kMinPause = std::chrono::milliseconds(1);

// The state of one stream: events read and not sent yet, and the start time.
class Streamer {
 public:
  Streamer(EventSink& sink, const Schedule& schedule, StreamClock& clock, StreamProgress& progress)
      : sink_(sink), schedule_(schedule), clock_(clock), progress_(progress) {}

  std::vector<Event>& events() { return events_; }
  bool AllSent() const { return sent_ == events_.size(); }
  void Begin() {
    sent_ = 0;
    if (progress_.events > 0 || events_.empty()) return;
    begin_ = clock_.Now();
    progress_.first_time = events_.front().time;
  }

  // Waits for the next event, or sends all due events.
  Status Step() {
    const nanoseconds now = clock_.Now() - begin_;
    const std::size_t due = Due(now);
    if (due == sent_) {
      clock_.WaitUntil(begin_ + std::max(DueAt(sent_), now + kMinPause));
      return {};
    }
    progress_.behind =
        std::max(progress_.behind, schedule_.IsMax() ? nanoseconds(0) : now - DueAt(sent_));
    const std::span<const Event> wanted = std::span(events_).subspan(sent_, due - sent_);
    ASSIGN_OR_RETURN(const auto taken, sink_.Send(wanted));
    for (const Event& event : wanted.first(taken)) progress_.bytes += event.line.size();
    if (taken > 0) progress_.last_time = wanted[taken - 1].time;
    sent_ += taken;
    progress_.events += taken;
    progress_.elapsed = clock_.Now() - begin_;
    return {};
  }

 private:
  nanoseconds DueAt(std::size_t index) const {
    return schedule_.DueAt(progress_.events + (index - sent_), events_[index].time,
                           progress_.first_time);
  }
  // Returns the end of the due events.
  std::size_t Due(nanoseconds now) const {
    if (schedule_.IsMax()) return events_.size();
    std::size_t due = sent_;
    while (due < events_.size() && DueAt(due) <= now) ++due;
    return due;
  }

  EventSink& sink_;
  const Schedule& schedule_;
  StreamClock& clock_;
  StreamProgress& progress_;
  std::vector<Event> events_;
  std::size_t sent_ = 0;  // of the events
  nanoseconds begin_{0};
};

}  // namespace

Result<Schedule> Schedule::ParseRate(std::string_view text) {
  const auto millionths = Millionths(text);
  if (!millionths || *millionths == 0 || *millionths > kMaxRate * kMillion) {
    return InvalidArgument(
        "--rate: '{}' is invalid; expected events per second up to {}, such as 250 or 0.5; for "
        "maximum speed, use --pace max",
        text, kMaxRate);
  }
  return Rate(*millionths);
}

Result<Schedule> Schedule::ParsePace(std::string_view text) {
  if (text == "max") return Max();
  if (text == "real") return Pace(1);
  const auto times = text.starts_with('x') ? ParseNumber<uint64_t>(text.substr(1)) : std::nullopt;
  if (!times || *times == 0 || *times > kMaxTimes) {
    return InvalidArgument(
        "--pace: '{}' is invalid; expected real, max, or a factor such as x60, up to x{}", text,
        kMaxTimes);
  }
  return Pace(*times);
}

std::chrono::nanoseconds Schedule::DueAt(uint64_t number, int64_t time, int64_t first_time) const {
  constexpr uint64_t kNanosecondsPerMillionth = 1'000'000'000 * kMillion;
  unsigned __int128 due = 0;
  switch (kind_) {
    case Kind::kMax:
      break;
    case Kind::kRate:
      due = static_cast<unsigned __int128>(number) * kNanosecondsPerMillionth / factor_;
      break;
    case Kind::kPace:
      due = static_cast<unsigned __int128>(time - first_time) * 1'000 / factor_;
      break;
  }
  return std::chrono::nanoseconds(
      static_cast<int64_t>(std::min<unsigned __int128>(due, kNever.count())));
}

Status RunStream(EventFeed& feed, EventSink& sink, const Schedule& schedule, uint64_t max_events,
                 StreamClock& clock, Stop& stop, const OnStreamProgress& on_progress,
                 StreamProgress& progress) {
  Streamer streamer(sink, schedule, clock, progress);
  while (progress.events < max_events) {
    const uint64_t at_once = std::min<uint64_t>(max_events - progress.events, kMaxAtOnce);
    RETURN_IF_ERROR(feed.Next(static_cast<std::size_t>(at_once), streamer.events()));
    if (streamer.events().empty()) {
      progress.whole = true;
      return {};
    }
    streamer.Begin();
    while (!streamer.AllSent()) {
      if (stop.Requested()) {
        progress.stopped = true;
        return {};
      }
      RETURN_IF_ERROR(streamer.Step());
      on_progress(progress);
    }
  }
  return {};
}

std::chrono::nanoseconds RealClock::Now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void RealClock::WaitUntil(std::chrono::nanoseconds time) {
  constexpr int64_t kSecond = 1'000'000'000;
  if (stop_.Requested()) return;
  const int64_t wait = std::max<int64_t>(0, (time - Now()).count());
  const timespec pause = {.tv_sec = wait / kSecond, .tv_nsec = wait % kSecond};
  pollfd come = {.fd = stop_.file(), .events = POLLIN, .revents = 0};
  ppoll(&come, 1, &pause, nullptr);
}

}  // namespace reveza::fraudgen

#include "datagen/stream/streamer.h"

#include <algorithm>
#include <span>
#include <vector>

namespace reveza::datagen {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMostAtOnce = 1'024;
// Nobody is woken more often; what comes due meanwhile goes together.
constexpr nanoseconds kLeastPause = std::chrono::milliseconds(1);

// The run of one stream: what it has read and not sent yet, and since when.
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

  // Waits for the next event's time, or sends those whose time has come.
  Status Step() {
    const nanoseconds now = clock_.Now() - begin_;
    const std::size_t due = Due(now);
    if (due == sent_) {
      clock_.WaitUntil(begin_ + std::max(DueAt(sent_), now + kLeastPause));
      return {};
    }
    progress_.behind =
        std::max(progress_.behind, schedule_.IsMax() ? nanoseconds(0) : now - DueAt(sent_));
    const std::span<const Event> wanted = std::span(events_).subspan(sent_, due - sent_);
    const auto taken = sink_.Send(wanted);
    if (!taken) return std::unexpected(taken.error());
    for (const Event& event : wanted.first(*taken)) progress_.bytes += event.line.size();
    if (*taken > 0) progress_.last_time = wanted[*taken - 1].time;
    sent_ += *taken;
    progress_.events += *taken;
    progress_.elapsed = clock_.Now() - begin_;
    return {};
  }

 private:
  nanoseconds DueAt(std::size_t index) const {
    return schedule_.DueAt(progress_.events + (index - sent_), events_[index].time,
                           progress_.first_time);
  }
  // The end of those that are due.
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
  std::size_t sent_ = 0;  // of them
  nanoseconds begin_{0};
};

}  // namespace

Status RunStream(EventFeed& feed, EventSink& sink, const Schedule& schedule,
                 const StreamLimits& limits, StreamClock& clock, Stop& stop,
                 const OnStreamProgress& on_progress, StreamProgress& progress) {
  Streamer streamer(sink, schedule, clock, progress);
  while (progress.events < limits.most_events) {
    const uint64_t left = limits.most_events - progress.events;
    const auto most = static_cast<std::size_t>(std::min<uint64_t>(left, kMostAtOnce));
    if (const Status status = feed.Next(most, streamer.events()); !status) return status;
    if (streamer.events().empty()) {
      progress.whole = true;
      return {};
    }
    streamer.Begin();
    while (!streamer.AllSent()) {
      if (stop.Came()) {
        progress.stopped = true;
        return {};
      }
      if (const Status status = streamer.Step(); !status) return status;
      on_progress(progress);
    }
  }
  return {};
}

}  // namespace reveza::datagen

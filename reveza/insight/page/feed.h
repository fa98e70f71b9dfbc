// What all open pages are told: the last snapshot, and the events of the time line. Each page has a
// place in it of its own and reads on from there at its own speed: one that is slow skips snapshots
// and, at last, events, and neither holds up the others nor costs memory.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace reveza::page {

class Feed {
 public:
  static constexpr std::size_t kMaxEvents = 131'072;  // that are kept
  static constexpr std::size_t kMaxPart = 4'096;      // events in one message
  static constexpr std::size_t kMaxLanes = 8'192;

  // Where a page is.
  struct Place {
    std::uint64_t snapshot = 0;
    std::uint64_t event = 0;
    std::uint64_t update = 0;
    std::uint64_t lanes = 0;
  };

  // Replaces the snapshot, a JSON text.
  void SetSnapshot(std::string snapshot);
  // Adds what the daemon answered to an EventsRequest at the wall time `now` (seconds). Answers
  // that have not the expected form are ignored.
  void AddEvents(const nlohmann::json& answer, double now);
  // Says that there is no daemon: nothing goes on.
  void LoseDaemon();
  // Returns the number to ask the daemon for next.
  std::uint64_t next_of_daemon() const;

  // Returns what is new for a page as messages of server-sent events, and moves its place. Waits
  // for at most `limit`; then the text is a comment, which keeps the connection alive. nullopt:
  // closed.
  std::optional<std::string> Next(Place& place, std::chrono::milliseconds limit);
  // Ends all pages.
  void Close();

  // Count the pages, so that nothing is collected for none. Enter() returns false if there are
  // `max` already.
  bool Enter(std::size_t max);
  void Leave();
  std::size_t pages() const;

 private:
  struct Lane {
    std::string job;
    int pid = 0;
    std::string name;
    bool operator==(const Lane&) const = default;
  };

  std::size_t LaneOf(const Lane& lane) REQUIRES(mutex_);
  std::string Timeline(Place& place) const REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::size_t pages_ GUARDED_BY(mutex_) = 0;
  std::string snapshot_ GUARDED_BY(mutex_);
  std::uint64_t snapshots_ GUARDED_BY(mutex_) = 0;
  std::uint64_t updates_ GUARDED_BY(mutex_) = 0;  // of the time line
  std::vector<Lane> lanes_ GUARDED_BY(mutex_);
  std::uint64_t lane_changes_ GUARDED_BY(mutex_) = 0;
  std::map<std::pair<std::string, int>, std::size_t> lane_numbers_ GUARDED_BY(mutex_);
  std::deque<std::string> events_ GUARDED_BY(mutex_);  // JSON
  std::uint64_t next_event_ GUARDED_BY(mutex_) = 0;
  nlohmann::json open_ GUARDED_BY(mutex_) = nlohmann::json::array();
  double wall_offset_ GUARDED_BY(mutex_) = 0;  // seconds from the daemon's clock to the wall clock
  std::optional<double> now_us_ GUARDED_BY(mutex_);  // the daemon's clock; none: no daemon
  std::int64_t daemon_ GUARDED_BY(mutex_) = 0;       // its pid
  std::uint64_t next_of_daemon_ GUARDED_BY(mutex_) = 0;
};

}  // namespace reveza::page

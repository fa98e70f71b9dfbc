#include "reveza/insight/page/feed.h"

#include <fmt/format.h>

#include <algorithm>

namespace reveza::page {
namespace {

using nlohmann::json;

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

const json& ArrayAt(const json& object, const char* key) {
  static const json kNone = json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

// Returns whether `row` has at least these: 's' a string, 'u' an unsigned number, 'n' a number.
bool Has(const json& row, const char* types) {
  if (!row.is_array()) return false;
  std::size_t i = 0;
  for (const char* type = types; *type != 0; ++type, ++i) {
    if (i >= row.size()) return false;
    const json& cell = row[i];
    const bool right = *type == 's'   ? cell.is_string()
                       : *type == 'u' ? cell.is_number_unsigned()
                                      : cell.is_number();
    if (!right) return false;
  }
  return true;
}

}  // namespace

void Feed::SetSnapshot(std::string snapshot) {
  MutexLock lock(mutex_);
  snapshot_ = std::move(snapshot);
  ++snapshots_;
  changed_.NotifyAll();
}

std::size_t Feed::LaneOf(const Lane& lane) {
  const auto [found, is_new] = lane_numbers_.try_emplace({lane.job, lane.pid}, lanes_.size());
  if (is_new && lanes_.size() == kMaxLanes) {
    lane_numbers_.erase(found);
    return kMaxLanes;
  }
  if (is_new) lanes_.emplace_back();
  // A program may change its name.
  if (lanes_[found->second] != lane) {
    lanes_[found->second] = lane;
    ++lane_changes_;
  }
  return found->second;
}

void Feed::AddEvents(const json& answer, double now) {
  if (!answer.is_object()) return;
  const auto next = answer.find("next");
  const auto now_us = answer.find("now_us");
  const auto pid = answer.find("pid");
  if (next == answer.end() || !next->is_number_unsigned() || now_us == answer.end() ||
      !now_us->is_number() || pid == answer.end() || !pid->is_number_integer()) {
    return;
  }
  MutexLock lock(mutex_);
  const auto daemon = pid->get<std::int64_t>();
  const bool other = daemon != daemon_;
  daemon_ = daemon;
  // The answer to a question for the events of its predecessor lacks its own first ones.
  if (other && next_of_daemon_ != 0) {
    next_of_daemon_ = 0;
    return;
  }
  std::map<std::uint64_t, std::size_t> lane_of;
  for (const json& client : ArrayAt(answer, "clients")) {
    if (!Has(client, "usns")) continue;
    lane_of[client[0].get<std::uint64_t>()] =
        LaneOf({client[1].get<std::string>(), client[2].get<int>(), client[3].get<std::string>()});
  }
  for (const json& event : ArrayAt(answer, "events")) {
    if (!Has(event, "usunnuu")) continue;
    const auto lane = lane_of.find(event[0].get<std::uint64_t>());
    if (lane == lane_of.end() || lane->second == kMaxLanes) continue;
    json row = event;
    row[0] = lane->second;
    events_.push_back(Dump(row));
    ++next_event_;
    if (events_.size() > kMaxEvents) events_.pop_front();
  }
  open_ = json::array();
  for (const json& span : ArrayAt(answer, "open")) {
    if (!Has(span, "usn")) continue;
    const auto lane = lane_of.find(span[0].get<std::uint64_t>());
    if (lane == lane_of.end() || lane->second == kMaxLanes) continue;
    open_.push_back({lane->second, span[1], span[2]});
  }
  now_us_ = now_us->get<double>();
  wall_offset_ = now - *now_us_ / 1e6;
  next_of_daemon_ = next->get<std::uint64_t>();
  ++updates_;
  changed_.NotifyAll();
}

void Feed::LoseDaemon() {
  MutexLock lock(mutex_);
  if (!now_us_ && updates_ > 0) return;
  now_us_.reset();
  open_ = json::array();
  ++updates_;
  changed_.NotifyAll();
}

std::uint64_t Feed::next_of_daemon() const {
  MutexLock lock(mutex_);
  return next_of_daemon_;
}

std::string Feed::Timeline(Place& place) const {
  const std::uint64_t oldest = next_event_ - events_.size();
  const bool lost = place.event < oldest;
  place.event = std::max(place.event, oldest);
  const std::uint64_t end = std::min<std::uint64_t>(next_event_, place.event + kMaxPart);
  json lanes = nullptr;
  if (place.lanes != lane_changes_) {
    lanes = json::array();
    for (const Lane& lane : lanes_) lanes.push_back({lane.job, lane.pid, lane.name});
    place.lanes = lane_changes_;
  }
  std::string text = fmt::format(
      "event: timeline\ndata: {{\"now\":{},\"offset\":{},\"lost\":{},\"more\":{},\"lanes\":{},"
      "\"open\":{},\"events\":[",
      now_us_ ? fmt::format("{}", *now_us_ / 1e6) : "null", wall_offset_, lost, end < next_event_,
      Dump(lanes), Dump(open_));
  for (; place.event < end; ++place.event) {
    if (text.back() != '[') text += ',';
    text += events_[place.event - oldest];
  }
  return text + "]}\n\n";
}

std::optional<std::string> Feed::Next(Place& place, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  MutexLock lock(mutex_);
  for (;;) {
    if (closed_) return std::nullopt;
    std::string text;
    if (place.snapshot != snapshots_) {
      text += "event: snapshot\ndata: " + snapshot_ + "\n\n";
      place.snapshot = snapshots_;
    }
    if (place.update != updates_ || place.event < next_event_) {
      text += Timeline(place);
      place.update = updates_;
    }
    if (!text.empty()) return text;
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds(0)) return ": nothing new\n\n";
    changed_.WaitFor(mutex_, left);
  }
}

void Feed::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

bool Feed::Enter(std::size_t max) {
  MutexLock lock(mutex_);
  if (pages_ >= max) return false;
  ++pages_;
  return true;
}

void Feed::Leave() {
  MutexLock lock(mutex_);
  --pages_;
}

std::size_t Feed::pages() const {
  MutexLock lock(mutex_);
  return pages_;
}

}  // namespace reveza::page

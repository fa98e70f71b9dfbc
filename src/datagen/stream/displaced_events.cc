#include "datagen/stream/displaced_events.h"

#include <algorithm>
#include <utility>

namespace reveza::datagen {
namespace {

// Of a heap whose front is due first, and of two the one that would stand first.
constexpr auto kLater = [](const auto& one, const auto& other) {
  return one->due != other->due ? one->due > other->due
                                : one->defect.original_position > other->defect.original_position;
};

}  // namespace

Status DisplacedEvents::Next(std::size_t most, std::vector<Event>& events) {
  events.clear();
  given_.clear();
  damaged_.clear();
  while (events.size() < most) {
    if (PutHeld(events)) continue;
    if (ended_) return {};
    if (used_ == read_.size()) {
      // The next ones make those invalid that were read before, so these go first.
      if (!events.empty()) return {};
      used_ = 0;
      if (auto read = sound_->Next(most, read_); !read) return read;
      ended_ = read_.empty();
      continue;
    }
    Put(read_[used_++], events);
  }
  return {};
}

void DisplacedEvents::Put(const Event& event, std::vector<Event>& events) {
  const uint64_t position = position_++;
  now_ = event.time;
  if (event.defect == nullptr) {
    events.push_back(event);
    ++turns_;
    return;
  }
  EventDefect& defect = damaged_.emplace_back(*event.defect);
  defect.original_position = position;
  events.push_back(event);
  events.back().defect = &defect;
  switch (defect.kind) {
    case DefectKind::kNull:
    case DefectKind::kSchema:
      ++turns_;
      return;
    case DefectKind::kDuplicate:
      ++turns_;
      Hold(events.back());
      // The first of the two is as it should be.
      events.back().defect = nullptr;
      return;
    case DefectKind::kLate:
    case DefectKind::kOutOfOrder:
      Hold(events.back());
      events.pop_back();
      return;
  }
}

void DisplacedEvents::Hold(const Event& event) {
  held_.push_back(std::make_unique<Held>(Held{.due = turns_ + event.defect->rows_later,
                                              .defect = *event.defect,
                                              .id = std::string(event.id),
                                              .key = std::string(event.key),
                                              .line = std::string(event.line)}));
  std::ranges::push_heap(held_, kLater);
}

bool DisplacedEvents::PutHeld(std::vector<Event>& events) {
  if (held_.empty() || (held_.front()->due > turns_ && !ended_)) return false;
  std::ranges::pop_heap(held_, kLater);
  given_.push_back(std::move(held_.back()));
  held_.pop_back();
  const Held& held = *given_.back();
  events.push_back(
      {.time = now_, .id = held.id, .key = held.key, .line = held.line, .defect = &held.defect});
  return true;
}

}  // namespace reveza::datagen

// A timeline whose marked events come later than their time, or twice: behind so many of those that
// come in their turn. It says of each broken event where it would stand. Pure, and not safe from
// several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "datagen/stream/event_source.h"

namespace reveza::datagen {

class DisplacedEvents final : public EventFeed {
 public:
  // The timeline must outlive it.
  explicit DisplacedEvents(EventFeed& sound) : sound_(&sound) {}
  DisplacedEvents(const DisplacedEvents&) = delete;
  DisplacedEvents& operator=(const DisplacedEvents&) = delete;

  // An event that is late has the time of the one before, which is when it is to be sent.
  Status Next(std::size_t most, std::vector<Event>& events) override;

 private:
  struct Held {
    uint64_t due = 0;  // when so many events have come in their turn
    EventDefect defect;
    std::string id;
    std::string key;
    std::string line;
  };

  void Put(const Event& event, std::vector<Event>& events);
  void Hold(const Event& event);
  // The next one that is due; false: none is.
  bool PutHeld(std::vector<Event>& events);

  EventFeed* sound_;
  std::vector<Event> read_;  // of the sound timeline
  std::size_t used_ = 0;     // of them
  uint64_t position_ = 0;    // of the next one
  uint64_t turns_ = 0;
  int64_t now_ = 0;
  bool ended_ = false;
  std::vector<std::unique_ptr<Held>> held_;  // a heap, the next one in front
  // What the events that were given refer to.
  std::vector<std::unique_ptr<Held>> given_;
  std::deque<EventDefect> damaged_;
};

}  // namespace reveza::datagen

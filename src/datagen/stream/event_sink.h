// Where events go. At least once: what was sent and not confirmed is sent again, and may arrive
// twice; the event's identifier tells. Not safe from several threads.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "datagen/stream/event.h"

namespace reveza::datagen {

// Asked by whoever waits. Used by one thread.
class Stop {
 public:
  virtual ~Stop() = default;
  // Somebody wants it to end.
  virtual bool Came() = 0;
  // A descriptor that can be read from as soon as that is so, or -1.
  virtual int file() const = 0;
};

class EventSink {
 public:
  virtual ~EventSink() = default;

  // Takes the events in this order, and waits while the other side takes no more. How many were
  // taken: all, or fewer when Stop came or one failed; the next call then says why. They need not
  // stay.
  virtual Result<std::size_t> Send(std::span<const Event> events) = 0;
  // Waits until all is confirmed that was sent, or an error.
  virtual Status Flush() = 0;
  // Of those taken, how many the other side has said to have.
  virtual uint64_t confirmed() const = 0;
  // How often something had to be sent again.
  virtual uint64_t repeated() const { return 0; }
};

}  // namespace reveza::datagen

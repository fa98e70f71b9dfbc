// The clock that people live by. Not safe from several threads.
#pragma once

#include <chrono>

#include "datagen/stream/event_sink.h"
#include "datagen/stream/streamer.h"

namespace reveza::datagen {

class RealClock final : public StreamClock {
 public:
  explicit RealClock(Stop& stop) : stop_(stop) {}
  std::chrono::nanoseconds Now() override;
  void WaitUntil(std::chrono::nanoseconds time) override;

 private:
  Stop& stop_;
};

}  // namespace reveza::datagen

// Fakes for tests: events, a source, a recording sink, a manual clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fraudgen/stream/event.h"
#include "fraudgen/stream/streamer.h"

namespace reveza::fraudgen {

struct TestingEvent {
  int64_t time;
  std::string id;
  std::string key = "CUST_1";
};

inline std::string TestingLine(const TestingEvent& event) {
  return "{\"id\":\"" + event.id + "\"}\n";
}

inline std::unique_ptr<EventBatch> TestingBatch(const std::vector<TestingEvent>& events) {
  auto batch = std::make_unique<EventBatch>();
  for (const TestingEvent& event : events) {
    const std::string line = TestingLine(event);
    batch->Add({.time = event.time, .id = event.id, .key = event.key, .line = line});
  }
  return batch;
}

// Returns events in batches of `batch_size`. Released batches are freed.
class TestingSource final : public EventSource {
 public:
  TestingSource(std::vector<TestingEvent> events, std::size_t batch_size)
      : events_(std::move(events)), batch_size_(batch_size) {}

  Result<EventBatch*> Next() override {
    if (next_ == fail_at) return Fail(Error::Code::kInternal, "the source is broken");
    if (next_ == events_.size()) return nullptr;
    const std::size_t end = std::min(next_ + batch_size_, events_.size());
    lent_.push_back(TestingBatch({events_.begin() + static_cast<std::ptrdiff_t>(next_),
                                  events_.begin() + static_cast<std::ptrdiff_t>(end)}));
    next_ = end;
    return lent_.back().get();
  }
  void Release(EventBatch* batch) override {
    released_in_order = released_in_order && lent_.front().get() == batch;
    std::erase_if(lent_, [batch](const auto& each) { return each.get() == batch; });
  }

  std::size_t lent() const { return lent_.size(); }
  bool released_in_order = true;
  std::optional<std::size_t> fail_at;

 private:
  std::vector<TestingEvent> events_;
  std::size_t batch_size_;
  std::size_t next_ = 0;
  std::deque<std::unique_ptr<EventBatch>> lent_;
};

class TestingStop final : public Stop {
 public:
  bool Requested() override { return requested; }
  int file() const override { return -1; }
  bool requested = false;
};

class TestingStreamClock final : public StreamClock {
 public:
  std::chrono::nanoseconds Now() override { return now; }
  void WaitUntil(std::chrono::nanoseconds time) override {
    ++waits;
    now = std::max(now, time) + late;
    if (on_wait) on_wait();
  }
  std::chrono::nanoseconds now{5'000'000'000};
  std::chrono::nanoseconds late{0};  // added to each wait
  uint64_t waits = 0;
  std::function<void()> on_wait;
};

// Records events with their times.
class TestingSink final : public EventSink {
 public:
  explicit TestingSink(TestingStreamClock& clock) : clock_(clock) {}

  Result<std::size_t> Send(std::span<const Event> events) override {
    if (on_send) on_send();
    const std::size_t count = std::min(events.size(), max_per_send);
    for (const Event& event : events.first(count)) {
      ids.emplace_back(event.id);
      times.push_back(clock_.now);
    }
    ++sends;
    return count;
  }
  Status Flush() override { return {}; }
  uint64_t acknowledged() const override { return ids.size(); }

  std::vector<std::string> ids;
  std::vector<std::chrono::nanoseconds> times;
  uint64_t sends = 0;
  std::size_t max_per_send = SIZE_MAX;
  std::function<void()> on_send;

 private:
  TestingStreamClock& clock_;
};

}  // namespace reveza::fraudgen

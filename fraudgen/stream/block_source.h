// Events of rows made in order of time, such as those of a block. A thread makes them, a few
// hundred events ahead of the consumer, so that many blocks advance together without being
// buffered; and their merge by time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/mutex.h"
#include "fraudgen/model/model.h"
#include "fraudgen/stream/event.h"
#include "fraudgen/stream/event_writer.h"

namespace reveza::fraudgen {

// Limits the number of concurrently running threads. Thread-safe.
class ConcurrencyLimit {
 public:
  explicit ConcurrencyLimit(int count) : free_(count) {}

  void Acquire();
  void Release();

 private:
  Mutex mutex_;
  CondVar freed_;
  int free_ GUARDED_BY(mutex_);
};

// Not thread-safe.
class BlockSource final : public EventSource {
 public:
  // Makes all rows. Must stop and return the error if the sink fails.
  using MakeRows = std::function<Status(BatchSink&)>;

  // `limit` must outlive it.
  BlockSource(MakeRows make, EventWriter writer, ConcurrencyLimit& limit);
  // Stops the thread.
  ~BlockSource() override;
  BlockSource(const BlockSource&) = delete;
  BlockSource& operator=(const BlockSource&) = delete;

  Result<EventBatch*> Next() override;
  void Release(EventBatch* batch) override;

 private:
  class Rows;

  void Make(const MakeRows& make);
  // Hands over a full batch and returns an empty one. Returns false if stopped.
  bool Exchange(std::unique_ptr<EventBatch>& events);

  EventWriter writer_;
  ConcurrencyLimit& limit_;

  Mutex mutex_;
  CondVar made_;
  CondVar taken_;
  std::deque<std::unique_ptr<EventBatch>> ready_ GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<EventBatch>> lent_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<EventBatch>> spare_ GUARDED_BY(mutex_);
  std::optional<Status> ended_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;

  std::jthread thread_;
};

// Merges event sources by time and identifier, with one batch of each in memory. Not thread-safe.
class Merge final : public EventFeed {
 public:
  // `sources` must outlive it.
  explicit Merge(std::vector<EventSource*> sources) : sources_(std::move(sources)) {}
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  Status Next(std::size_t max_events, std::vector<Event>& events) override;

 private:
  // A source's next event.
  struct Head {
    Event event;
    EventBatch* batch;
    std::size_t index;  // of the event in the batch
    EventSource* source;
  };

  Status Start();
  // Advances the first head; removes it at the end of its source.
  Status Advance();
  void SiftDown(std::size_t place);

  std::vector<EventSource*> sources_;
  std::vector<Head> heads_;  // a heap, the earliest first
  std::vector<std::pair<EventSource*, EventBatch*>> exhausted_;
  bool started_ = false;
};

}  // namespace reveza::fraudgen

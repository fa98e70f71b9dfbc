// The events of rows that are made in order of time, such as those of a model's block. A thread
// makes them and stops a few hundred events ahead of who takes them, so that many blocks can be
// made at the same pace and none has to be kept.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "datagen/model.h"
#include "datagen/stream/event_source.h"
#include "datagen/stream/event_writer.h"

namespace reveza::datagen {

// How many of the threads may work at a time. Safe from any thread.
class Turns {
 public:
  explicit Turns(int count) : free_(count) {}

  void Take();
  void GiveBack();

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  int free_;
};

// Used by one thread.
class BlockSource final : public EventSource {
 public:
  // Makes all rows. An error of the sink ends it, and is its own.
  using MakeRows = std::function<Status(BatchSink&)>;

  // The turns must outlive it.
  BlockSource(MakeRows make, EventWriter writer, Turns& turns);
  // Ends the thread, wherever it is.
  ~BlockSource() override;
  BlockSource(const BlockSource&) = delete;
  BlockSource& operator=(const BlockSource&) = delete;

  Result<EventBatch*> Next() override;
  void GiveBack(EventBatch* batch) override;

 private:
  class Rows;

  void Make(const MakeRows& make);
  // What is full is handed over, and an empty one comes back; false: nobody wants more.
  bool HandOver(std::unique_ptr<EventBatch>& events);

  EventWriter writer_;
  Turns& turns_;

  std::mutex mutex_;  // of all that follows
  std::condition_variable made_;
  std::condition_variable taken_;
  std::deque<std::unique_ptr<EventBatch>> ready_;
  std::deque<std::unique_ptr<EventBatch>> lent_;
  std::vector<std::unique_ptr<EventBatch>> spare_;
  std::optional<Status> ended_;
  bool unwanted_ = false;

  std::jthread thread_;
};

}  // namespace reveza::datagen

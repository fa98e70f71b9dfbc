// Adds usage to a store in a thread of its own.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/log.h"
#include "common/base/mutex.h"
#include "reveza/gpu/usage/store.h"

namespace reveza::usage {

class Recorder : public Sink {
 public:
  Recorder(std::filesystem::path file, Logger logger);
  // Writes what is left.
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Counts for the present hour. What cannot be written is kept and tried again with the next.
  void Add(const Usage& usage) override;
  // Returns how often nothing could be written.
  int failures() const { return failures_; }

 private:
  using Pending = std::map<std::pair<Hour, std::uint64_t>, Usage>;

  void Run();
  // Returns what could not be written.
  Pending Write(Pending pending);
  void AddPending(Hour hour, const Usage& usage) REQUIRES(mutex_);

  const std::filesystem::path file_;
  const Logger logger_;
  std::optional<Store> store_;  // of the thread
  bool failed_ = false;         // of the thread: has been logged
  std::atomic<int> failures_ = 0;
  Mutex mutex_;
  CondVar changed_;
  Pending pending_ GUARDED_BY(mutex_);
  bool fresh_ GUARDED_BY(mutex_) = false;  // something was added since the last write
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace reveza::usage

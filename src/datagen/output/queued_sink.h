// Hands bytes to a slower sink in parts of one size, by a thread of its own, so that whoever makes
// them goes on meanwhile; when all parts are full he waits, so memory is bounded. What fits into
// one part is handed on by Finish itself. Not safe from several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "datagen/output/byte_sink.h"
#include "datagen/output/part_budget.h"

namespace reveza::datagen {

class QueuedSink final : public ByteSink {
 public:
  // At most `parts` (two or more) of `part_bytes` are there at a time: the one that is being
  // filled, the one on its way and those that wait. All but the one that is being filled are of
  // `budget`, which others may share, if there is one.
  QueuedSink(std::unique_ptr<ByteSink> next, std::size_t part_bytes, std::size_t parts,
             std::shared_ptr<PartBudget> budget = nullptr);
  // Waits for the part on its way; those that wait are dropped.
  ~QueuedSink() override;
  QueuedSink(const QueuedSink&) = delete;
  QueuedSink& operator=(const QueuedSink&) = delete;

  // An error is that of an earlier part.
  Status Append(std::string_view bytes) override;
  Status Finish() override;

 private:
  Status SendFilling();
  void Loop();
  // With the lock held: those that wait are not sent.
  void DropWaiting();

  const std::unique_ptr<ByteSink> next_;
  const std::size_t part_bytes_;
  const std::size_t parts_;
  const std::shared_ptr<PartBudget> budget_;
  std::string filling_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  bool sending_ = false;
  bool ended_ = false;
  std::optional<Error> error_;

  std::thread thread_;  // from the first full part on
};

}  // namespace reveza::datagen

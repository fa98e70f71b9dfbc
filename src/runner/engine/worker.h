// The runner's side of one supervisor. Thread-safety: none.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "runner/supervisor/frames.h"

namespace reveza::runner {

class Worker {
 public:
  // Starts `program` (reveza-supervisor) in a session of its own, with a record at `record`, a path
  // that is not there yet. Nothing of this process is copied, however large it is.
  static Result<Worker> Start(const std::filesystem::path& program,
                              const std::filesystem::path& record);

  Worker(Worker&& other) noexcept = default;
  Worker& operator=(Worker&& other) noexcept = default;
  // Closes the socket: the supervisor ends when what it runs has ended. It is not waited for.
  ~Worker() = default;

  // What cannot be sent now is kept, and sent by Flush when `descriptor` can be written to.
  void Send(std::string_view frame);
  void Flush();
  bool wants_to_write() const { return !unsent_.empty(); }

  // Appends the frames that have come. False: the supervisor is gone, or is none.
  bool Receive(std::vector<Frame>& frames);

  int descriptor() const { return socket_.get(); }
  pid_t pid() const { return pid_; }
  const std::filesystem::path& record() const { return record_; }

 private:
  Worker(UniqueFd socket, pid_t pid, std::filesystem::path record)
      : socket_(std::move(socket)), pid_(pid), record_(std::move(record)) {}

  UniqueFd socket_;
  pid_t pid_ = 0;
  std::filesystem::path record_;
  std::string unsent_;
  FrameReader reader_;
};

}  // namespace reveza::runner

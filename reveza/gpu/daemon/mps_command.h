// Runs nvidia-cuda-mps-control for a user, without waiting for it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/base/unique_fd.h"

namespace reveza::daemon {

struct MpsUser {
  uid_t uid = 0;
  gid_t gid = 0;
};

// A process of nvidia-cuda-mps-control. It is killed if it has not ended when the object is
// destroyed.
class MpsCommand {
 public:
  // Starts `program` for the user, with the pipe directory `folder`. `input` is written to its
  // standard input; without input it is told to become a control daemon (-d).
  static Result<MpsCommand> Start(const std::filesystem::path& program, const MpsUser& user,
                                  const std::filesystem::path& folder, const std::string& input);
  MpsCommand(MpsCommand&&) = default;
  MpsCommand& operator=(MpsCommand&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(process_, other.process_);
    std::swap(output_, other.output_);
    return *this;
  }
  ~MpsCommand();

  // Readable when the process has ended.
  int fd() const { return process_.get(); }
  // Call when it has. Returns nothing if it exited with 0, else what it said.
  std::optional<std::string> Finish();

 private:
  MpsCommand() = default;
  std::string Output() const;

  pid_t pid_ = 0;
  UniqueFd process_;
  UniqueFd output_;
};

// Returns the path of nvidia-cuda-mps-control in PATH.
Result<std::filesystem::path> FindMpsControl();

// Creates the pipe directory of the user, closed to others, with a folder `log` in it.
Status PrepareMpsFolder(const std::filesystem::path& folder, const MpsUser& user);

// A control daemon that runs.
struct MpsDaemon {
  pid_t pid = 0;
  UniqueFd process;  // readable when it has ended
};
// Returns the control daemon with the pipe directory `folder`, by its pid file. kNotFound if none
// runs, or not as this user.
Result<MpsDaemon> FindMpsDaemon(const std::filesystem::path& folder,
                                std::optional<uid_t> uid = std::nullopt);

}  // namespace reveza::daemon

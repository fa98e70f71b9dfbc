// A file in a shared folder that names the host and the process that own something, and is touched
// while they do: another machine tells from it whether the owner is alive. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "common/base/error.h"

namespace reveza::jobs {

class OwnerFile {
 public:
  // An owner that has not been heard of for so long is gone.
  static constexpr std::chrono::seconds kTimeout{120};

  struct Owner {
    std::string host;
    pid_t pid = 0;
    std::chrono::seconds age{0};
  };

  // Creates the file, or takes it over from an owner that is gone. kUnavailable: another process
  // owns it; `what` names what is owned in the message.
  static Result<OwnerFile> Claim(std::filesystem::path file, const std::string& what);

  OwnerFile(OwnerFile&& other) noexcept;
  OwnerFile& operator=(OwnerFile&&) = delete;
  // Removes the file, unless another process has taken it over.
  ~OwnerFile();

  // Tells other machines that the owner is alive. kUnavailable: it seemed to be gone, because the
  // process or its machine was stopped for longer than kTimeout, and another process has taken
  // over.
  Status Touch() const;

  // Returns the living owner of a file; nullopt if there is none.
  static std::optional<Owner> Find(const std::filesystem::path& file);

 private:
  explicit OwnerFile(std::filesystem::path file) : file_(std::move(file)) {}
  // Fails if a living process other than this one owns the file.
  static Status RefuseIfOwned(const std::filesystem::path& file, const std::string& what);
  static Result<bool> TakeOver(const std::filesystem::path& file, const std::string& what);

  std::filesystem::path file_;  // empty: moved from
};

}  // namespace reveza::jobs

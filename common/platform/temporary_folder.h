// A new folder that is removed, with its contents, together with its owner. Not thread-safe.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace reveza::platform {

class TemporaryFolder {
 public:
  // Creates "PREFIX" followed by six characters in `parent`.
  TemporaryFolder(const std::filesystem::path& parent, const std::string& prefix) {
    std::string name = (parent / (prefix + "XXXXXX")).string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }  // empty: could not be created

 private:
  std::filesystem::path path_;
};

}  // namespace reveza::platform

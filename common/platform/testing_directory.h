// For tests: a temporary folder that is removed with the object.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

namespace reveza::platform {

class TestingDirectory {
 public:
  // `in` must exist.
  explicit TestingDirectory(
      const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
    std::string name = in / "reveza-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestingDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestingDirectory(const TestingDirectory&) = delete;
  TestingDirectory& operator=(const TestingDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  void Write(const std::filesystem::path& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

// Returns the contents of all files in a folder and its folders, by their path in it.
inline std::map<std::string, std::string> ContentsOf(const std::filesystem::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    contents[entry.path().lexically_relative(folder)] =
        std::string(std::istreambuf_iterator<char>(file), {});
  }
  return contents;
}

}  // namespace reveza::platform

#include "common/base/read_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace reveza {
namespace read_file_test {

class ReadFileTest : public testing::Test {
 protected:
  ReadFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "reveza-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ReadFileTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(ReadFileTest, ReadsFilesOfAllSizes) {
  for (const std::size_t size : {0U, 1U, 65535U, 65536U, 65537U, 300000U}) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i % 251);
    std::ofstream(folder_ / "file", std::ios::binary) << text;
    const auto bytes = ReadFile(folder_ / "file");
    ASSERT_TRUE(bytes);
    EXPECT_EQ(*bytes, text) << size;
  }
}

TEST_F(ReadFileTest, FileExistsReportsErrors) {
  std::ofstream(folder_ / "file") << "x";
  std::filesystem::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(FileExists(folder_ / "file"), true);
  EXPECT_EQ(FileExists(folder_), true);
  EXPECT_EQ(FileExists(folder_ / "other"), false);
  EXPECT_EQ(FileExists(folder_ / "file/below"), false);
  const auto unseen = FileExists(folder_ / "loop");
  ASSERT_FALSE(unseen);
  EXPECT_EQ(unseen.error().code, Error::Code::kUnavailable);
}

TEST_F(ReadFileTest, ReadsFilesWithoutASize) {
  const auto bytes = ReadFile("/proc/self/status");
  ASSERT_TRUE(bytes);
  EXPECT_NE(bytes->find("Pid:"), std::string::npos);
}

TEST_F(ReadFileTest, ErrorsNameFileAndReason) {
  const auto missing = ReadFile(folder_ / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Error::Code::kNotFound);
  EXPECT_TRUE(missing.error().message.ends_with("missing: No such file or directory"));
  const auto directory = ReadFile(folder_);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, Error::Code::kInvalidArgument);
  EXPECT_TRUE(directory.error().message.ends_with(": Is a directory"));
}

}  // namespace read_file_test
}  // namespace reveza

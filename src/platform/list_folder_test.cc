#include "platform/list_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "platform/testing_descriptors.h"
#include "platform/testing_directory.h"

namespace reveza::platform {
namespace {

namespace fs = std::filesystem;

TEST(ListFolder, GivesAllByName) {
  const TestingDirectory folder;
  std::ofstream(folder / "b");
  std::ofstream(folder / ".a");
  fs::create_directory(folder / "c");
  EXPECT_EQ(ListFolder(folder.path()),
            (std::vector<fs::path>{folder / ".a", folder / "b", folder / "c"}));
}

TEST(ListFolder, TellsNoFolderFromOneThatCannotBeRead) {
  const TestingDirectory folder;
  std::ofstream(folder / "file");
  EXPECT_EQ(ListFolder(folder / "none").error().code, Error::Code::kNotFound);
  EXPECT_EQ(ListFolder(folder / "file").error().code, Error::Code::kInvalidArgument);
  const NoDescriptors none;
  const auto listed = ListFolder(folder.path());
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Error::Code::kExhausted);
  EXPECT_NE(listed.error().message.find(folder.path().string()), std::string::npos);
}

}  // namespace
}  // namespace reveza::platform

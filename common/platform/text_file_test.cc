#include "common/platform/text_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "common/platform/testing_descriptors.h"
#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace text_file_test {

namespace fs = std::filesystem;

TEST(ListFolder, ReturnsAllEntriesSorted) {
  const TestingDirectory folder;
  std::ofstream(folder / "b");
  std::ofstream(folder / ".a");
  fs::create_directory(folder / "c");
  EXPECT_EQ(ListFolder(folder.path()),
            (std::vector<fs::path>{folder / ".a", folder / "b", folder / "c"}));
}

TEST(ListFolder, DistinguishesMissingFromUnreadable) {
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

TEST(ParseCpuList, ParsesKernelLists) {
  using List = std::vector<unsigned>;
  EXPECT_EQ(ParseCpuList("0-3,8,10-11\n"), (List{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(ParseCpuList("5"), List{5});
  EXPECT_EQ(ParseCpuList(""), List{}) << "a node without cores";
  for (const std::string_view text : {"a", "1-", "-1", "3-1", "1,,2", "1,", "1 2", "0-99999999"}) {
    EXPECT_EQ(ParseCpuList(text), std::nullopt) << text;
  }
}

}  // namespace text_file_test
}  // namespace reveza::platform

#include "fraudgen/run/folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>

#include "common/platform/testing_directory.h"

namespace reveza::fraudgen {
namespace folder_test {
namespace {

TEST(Folder, ReadsTheManifestOfMillionsOfFiles) {
  constexpr uint64_t kBytes = uint64_t{240} << 20;
  const platform::TestingDirectory directory;
  Folder folder(directory.path());
  directory.Write("_fraudgen/manifest.json", "{}");
  std::filesystem::resize_file(directory / "_fraudgen/manifest.json", kBytes);
  const auto text = folder.ReadSmall("_fraudgen/manifest.json");
  ASSERT_TRUE(text);
  ASSERT_TRUE(*text);
  EXPECT_EQ((*text)->size(), kBytes);
  EXPECT_FALSE(*folder.ReadSmall("_fraudgen/fraudgen.toml"));
}

}  // namespace
}  // namespace folder_test
}  // namespace reveza::fraudgen

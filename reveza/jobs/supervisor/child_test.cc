#include "reveza/jobs/supervisor/child.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace child_test {

// FindInPath() with the PATH "FOLDER/first:second".
class FindInPathTest : public testing::Test {
 protected:
  // Makes an executable file.
  std::string Program(const std::string& name) {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    folder_.Write(name, "#!/bin/sh\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string Find(const std::string& program) const {
    return FindInPath(program, folder_.path().native(),
                      (folder_.path() / "first").string() + ":second");
  }

  platform::TestingDirectory folder_;
};

TEST_F(FindInPathTest, SearchesLikeAShell) {
  const std::string second = Program("second/tool");
  EXPECT_EQ(Find("tool"), second) << "relative to the folder of the step";
  const std::string first = Program("first/tool");
  EXPECT_EQ(Find("tool"), first);
  std::filesystem::permissions(first, std::filesystem::perms::owner_read);
  EXPECT_EQ(Find("tool"), second) << "that one cannot be executed";
  EXPECT_EQ(Find("other"), "");
}

TEST(SearchPathOf, TakesItsOwnOrTheOther) {
  EXPECT_EQ(SearchPathOf({"A=1", "PATH=/a:/b"}, "/c"), "/a:/b");
  EXPECT_EQ(SearchPathOf({"A=1", "XPATH=/a"}, "/c"), "/c");
  EXPECT_EQ(SearchPathOf({}), "/usr/bin:/bin");
}

}  // namespace child_test
}  // namespace reveza::jobs

#include "reveza/jobs/supervisor/child.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace child_test {

class ProgramFinderTest : public testing::Test {
 protected:
  // Makes an executable file.
  std::string Program(const std::string& name) {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    folder_.Write(name, "#!/bin/sh\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  StartRequest Request(const std::string& program) const {
    StartRequest request;
    request.arguments = {program};
    request.folder = folder_.path();
    request.environment = {"PATH=" + (folder_.path() / "first").string() + ":second"};
    return request;
  }

  platform::TestingDirectory folder_;
};

TEST_F(ProgramFinderTest, SearchesLikeAShell) {
  const std::string second = Program("second/tool");
  ProgramFinder finder;
  EXPECT_EQ(finder.Find(Request("tool")), second) << "relative to the folder of the step";
  const std::string first = Program("first/tool");
  EXPECT_EQ(finder.Find(Request("tool")), second) << "as found before";
  EXPECT_EQ(ProgramFinder().Find(Request("tool")), first);
  std::filesystem::remove(second);
  EXPECT_EQ(finder.Find(Request("tool")), first) << "that one is gone";
  EXPECT_EQ(finder.Find(Request("other")), "");
  EXPECT_EQ(finder.Find(Request("tool")), first);
  EXPECT_EQ(finder.Find(Request("./tool")), "./tool");
}

TEST_F(ProgramFinderTest, SearchesAgainForAnotherFolderOrPath) {
  const std::string here = Program("second/tool");
  const std::string there = Program("there/second/tool");
  ProgramFinder finder;
  EXPECT_EQ(finder.Find(Request("tool")), here);
  StartRequest request = Request("tool");
  request.folder = folder_.path() / "there";
  EXPECT_EQ(finder.Find(request), there);
  request.environment = {"PATH=" + (folder_.path() / "second").string()};
  EXPECT_EQ(finder.Find(request), here);
}

}  // namespace child_test
}  // namespace reveza::jobs

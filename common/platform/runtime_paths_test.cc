#include "common/platform/runtime_paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace runtime_paths_test {

Environment With(std::map<std::string, std::string> values) {
  return [values](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

TEST(UserSocket, IsInTheRuntimeFolder) {
  EXPECT_EQ(UserSocket(With({{"XDG_RUNTIME_DIR", "/run/user/7"}}), 7),
            "/run/user/7/reveza/revezad.sock");
  EXPECT_EQ(UserSocket(With({}), 7), "/tmp/reveza-7/revezad.sock");
}

TEST(ProcessEnvironment, TreatsEmptyAsUnset) {
  setenv("REVEZA_TEST_VALUE", "", 1);
  EXPECT_EQ(ProcessEnvironment("REVEZA_TEST_VALUE"), std::nullopt);
  setenv("REVEZA_TEST_VALUE", "x", 1);
  EXPECT_EQ(ProcessEnvironment("REVEZA_TEST_VALUE"), "x");
  unsetenv("REVEZA_TEST_VALUE");
  EXPECT_EQ(ProcessEnvironment("REVEZA_TEST_VALUE"), std::nullopt);
}

TEST(PrepareSocketFolder, CreatesAPrivateFolder) {
  TestingDirectory place;
  const auto socket = place / "deep/er/revezad.sock";
  ASSERT_TRUE(PrepareSocketFolder(socket, getuid()));
  struct stat info{};
  ASSERT_EQ(stat(socket.parent_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(PrepareSocketFolder(socket, getuid())) << "may exist already";
}

TEST(PrepareSocketFolder, RejectsAWritableFolder) {
  TestingDirectory place;
  const auto socket = place / "open/revezad.sock";
  ASSERT_TRUE(PrepareSocketFolder(socket, getuid()));
  ASSERT_EQ(chmod(socket.parent_path().c_str(), 0777), 0);
  const auto refused = PrepareSocketFolder(socket, getuid());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("chmod 700"), std::string::npos);
}

TEST(PrepareSocketFolder, RejectsAnotherUsersFolder) {
  TestingDirectory place;
  if (getuid() != 0) GTEST_SKIP() << "requires root";
  const auto socket = place / "theirs/revezad.sock";
  ASSERT_TRUE(PrepareSocketFolder(socket, getuid()));
  ASSERT_EQ(chown(socket.parent_path().c_str(), 65534, 65534), 0);
  const auto refused = PrepareSocketFolder(socket, getuid());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kPermission);
}

TEST(PrepareSocketFolder, RejectsLinksAndFiles) {
  TestingDirectory place;
  place.Write("file", "");
  EXPECT_FALSE(PrepareSocketFolder(place / "file/revezad.sock", getuid()));
  std::filesystem::create_directory_symlink("/", place / "link");
  EXPECT_FALSE(PrepareSocketFolder(place / "link/revezad.sock", getuid()));
  EXPECT_FALSE(PrepareSocketFolder("revezad.sock", getuid()));
}

TEST(ProgramFolder, ContainsThisProgram) {
  EXPECT_TRUE(std::filesystem::is_directory(ProgramFolder()));
}

}  // namespace runtime_paths_test
}  // namespace reveza::platform

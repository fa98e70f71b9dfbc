#include "common/platform/unix_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/platform/testing_descriptors.h"
#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace unix_socket_test {

TEST(LockFile, IsExclusive) {
  TestingDirectory place;
  auto first = LockFile(place / "lock");
  ASSERT_TRUE(first) << first.error().message;
  const auto second = LockFile(place / "lock");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Error::Code::kUnavailable);
  EXPECT_EQ(IsLocked(place / "lock"), true);
  first->Reset();
  EXPECT_EQ(IsLocked(place / "lock"), false);
  EXPECT_TRUE(LockFile(place / "lock"));
  EXPECT_FALSE(LockFile(place / "no/such/folder"));
}

TEST(LockFile, CanBeQueriedWithoutTakingIt) {
  TestingDirectory place;
  EXPECT_EQ(IsLocked(place / "lock"), false) << "no lock file";
  const auto holder = LockFile(place / "lock");
  ASSERT_TRUE(holder);
  const NoDescriptors none;
  const auto unseen = IsLocked(place / "lock");
  ASSERT_FALSE(unseen) << "unknown must not look unlocked";
  EXPECT_EQ(unseen.error().code, Error::Code::kExhausted);
}

TEST(UnixSocket, IsPrivateToItsOwner) {
  TestingDirectory place;
  const auto path = place / "s.sock";
  const auto listener = ListenAt(path, std::nullopt);
  ASSERT_TRUE(listener) << listener.error().message;
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(ConnectTo(path));
}

TEST(UnixSocket, IsAccessibleToTheGroup) {
  TestingDirectory place;
  const auto path = place / "s.sock";
  const auto listener = ListenAt(path, getgid());
  ASSERT_TRUE(listener) << listener.error().message;
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  EXPECT_EQ(info.st_gid, getgid());
}

TEST(UnixSocket, PreservesPacketBoundaries) {
  TestingDirectory place;
  const auto path = place / "s.sock";
  const auto listener = ListenAt(path, std::nullopt);
  ASSERT_TRUE(listener);
  const auto client = ConnectTo(path);
  ASSERT_TRUE(client);
  const UniqueFd server(accept(listener->get(), nullptr, nullptr));
  ASSERT_TRUE(server);
  ASSERT_EQ(send(client->get(), "one", 3, 0), 3);
  ASSERT_EQ(send(client->get(), "three", 5, 0), 5);
  char packet[16];
  EXPECT_EQ(recv(server.get(), packet, sizeof(packet), 0), 3);
  EXPECT_EQ(recv(server.get(), packet, sizeof(packet), 0), 5);
}

TEST(UnixSocket, ReplacesAStaleSocket) {
  TestingDirectory place;
  const auto path = place / "s.sock";
  auto dead = ListenAt(path, std::nullopt);
  ASSERT_TRUE(dead);
  dead->Reset();
  const auto nobody = ConnectTo(path);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Error::Code::kUnavailable);
  const auto living = ListenAt(path, std::nullopt);
  ASSERT_TRUE(living);
  EXPECT_TRUE(ConnectTo(path));
}

TEST(UnixSocket, RejectsInvalidPaths) {
  const auto nobody = ConnectTo("/no/such/socket");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Error::Code::kUnavailable);
  const auto too_long = ConnectTo(std::string(200, 'x'));
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, Error::Code::kInvalidArgument);
  EXPECT_FALSE(ListenAt("", std::nullopt));
}

TEST(UnixSocket, RejectsOtherUsers) {
  if (getuid() != 0) GTEST_SKIP() << "requires root";
  TestingDirectory place;
  const auto path = place / "s.sock";
  const auto listener = ListenAt(path, std::nullopt);
  ASSERT_TRUE(listener);
  ASSERT_EQ(chmod(place.path().c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    const auto refused = ConnectTo(path);
    _exit(!refused && refused.error().code == Error::Code::kPermission ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace unix_socket_test
}  // namespace reveza::platform

#include "common/platform/process.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace process_test {

TEST(OpenProcess, BecomesReadableOnExit) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(gate[1]);
    _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
  }
  close(gate[0]);
  const auto process = OpenProcess(child);
  ASSERT_TRUE(process) << process.error().message;
  pollfd poller{process->get(), POLLIN, 0};
  EXPECT_EQ(poll(&poller, 1, 0), 0) << "still running";
  close(gate[1]);
  EXPECT_EQ(poll(&poller, 1, 60'000), 1);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const auto gone = OpenProcess(child);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Error::Code::kNotFound);
}

TEST(PeerCredentials, ReturnsTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  const auto peer = PeerCredentials(ends[0]);
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_EQ(peer->uid, getuid());
  EXPECT_EQ(peer->gid, getgid());
  close(ends[0]);
  close(ends[1]);
  EXPECT_FALSE(PeerCredentials(-1));
}

TEST(OpenPeer, SeesTheExitOfTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  const auto self = OpenPeer(ends[0]);
  ASSERT_TRUE(self) << self.error().message;
  pollfd poller{self->get(), POLLIN, 0};
  EXPECT_EQ(poll(&poller, 1, 0), 0);
  close(ends[0]);
  close(ends[1]);
  EXPECT_FALSE(OpenPeer(-1));
}

// The peer is outside of the PID namespace of the observer, like a pod beside a daemon's container.
TEST(OpenPeer, SeesAProcessOfAnotherNamespace) {
  const std::string address = std::string(1, '\0') + "reveza-peer-test-" + std::to_string(getpid());
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  address.copy(name.sun_path, sizeof name.sun_path);
  const auto* where = reinterpret_cast<const sockaddr*>(&name);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  const UniqueFd listener(socket(AF_UNIX, SOCK_SEQPACKET, 0));
  ASSERT_EQ(bind(listener.get(), where, length), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWPID) != 0) _exit(77);
    const pid_t inner = fork();
    if (inner == 0) {
      const UniqueFd connection(accept(listener.get(), nullptr, nullptr));
      const auto credentials = PeerCredentials(connection.get());
      if (!credentials || credentials->pid != 0) _exit(2);
      const auto process = OpenPeer(connection.get());
      if (!process) _exit(process.error().code == Error::Code::kNotFound ? 77 : 3);
      pollfd poller{process->get(), POLLIN, 0};
      if (poll(&poller, 1, 0) != 0) _exit(4);
      send(connection.get(), "x", 1, 0);
      _exit(poll(&poller, 1, 60'000) == 1 ? 0 : 5);
    }
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 6);
  }
  const pid_t peer = fork();
  if (peer == 0) {
    const UniqueFd connection(socket(AF_UNIX, SOCK_SEQPACKET, 0));
    char byte = 0;
    // Exits once it is watched, or right away if it is not.
    if (connect(connection.get(), where, length) == 0) recv(connection.get(), &byte, 1, 0);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(outer, &status, 0), outer);
  kill(peer, SIGKILL);
  ASSERT_EQ(waitpid(peer, nullptr, 0), peer);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no PID namespaces, or Linux before 6.5";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(PeerIsInGroup, KnowsTheGroupsOfTheProcess) {
  if (getuid() != 0) GTEST_SKIP() << "only root may change the groups of a process";
  const pid_t child = fork();
  if (child == 0) {
    std::vector<gid_t> many(200);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<gid_t>(70'000 + i);
    int ends[2];
    // The groups are those of the time at which the sockets were connected.
    if (setgroups(many.size(), many.data()) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) {
      _exit(2);
    }
    _exit(PeerIsInGroup(ends[0], 70'199) && !PeerIsInGroup(ends[0], 70'200) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Groups, FindsGroupsAndMembership) {
  const auto root = GroupByNameOrNumber("root");
  ASSERT_TRUE(root);
  EXPECT_EQ(*root, 0u);
  EXPECT_EQ(GroupByNameOrNumber("4011223344"), 4011223344u) << "no database knows it";
  for (const char* wrong :
       {"no-such-group-anywhere", "", "-1", "10x", "4294967295", "4294967296"}) {
    const auto group = GroupByNameOrNumber(wrong);
    ASSERT_FALSE(group) << wrong;
    EXPECT_EQ(group.error().code, Error::Code::kNotFound) << wrong;
  }
  EXPECT_EQ(IsInGroup(12345, 77, 77), true) << "primary group";
  EXPECT_EQ(IsInGroup(65534, 65534, 0), false) << "user nobody is not in group root";
}

TEST(ProcessCommand, JoinsArgumentsWithSpaces) {
  TestingDirectory root;
  root.Write("proc/7/cmdline", std::string_view("python\0train.py\0", 16));
  EXPECT_EQ(ProcessCommand(7, root.path()), "python train.py");
  EXPECT_EQ(ProcessCommand(8, root.path()), "");
  EXPECT_NE(ProcessCommand(getpid()), "");
}

}  // namespace process_test
}  // namespace reveza::platform

#include "common/platform/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(Groups, FindsGroupsAndMembership) {
  const auto root = GroupByName("root");
  ASSERT_TRUE(root);
  EXPECT_EQ(*root, 0u);
  EXPECT_FALSE(GroupByName("no-such-group-anywhere"));
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

#include "fakecuda/card.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

namespace fakecuda {
namespace card_test {

class CardTest : public testing::Test {
 protected:
  CardTest() {
    char folder[] = "/tmp/fakecuda-card-test-XXXXXX";
    options_.directory = mkdtemp(folder);
    options_.memory = 8 * kGranule;
  }
  ~CardTest() override { std::filesystem::remove_all(options_.directory); }

  std::unique_ptr<Card> Open(std::uint64_t late_release_microseconds = 0) {
    options_.late_release_microseconds = late_release_microseconds;
    return Card::Open(options_);
  }

  Options options_;
};

constexpr std::uint64_t kAnHour = 3'600'000'000;

TEST_F(CardTest, ReleasedMemoryIsFreeImmediately) {
  const auto card = Open();
  AllocationInfo info;
  ASSERT_TRUE(card->Allocate(0, 8 * kGranule, 0, &info));
  EXPECT_FALSE(card->Allocate(0, kGranule, 0, &info));
  card->Drop(info.id);
  EXPECT_EQ(card->Used(0), 0u);
}

TEST_F(CardTest, LateReleaseDelaysFreeMemory) {
  const auto card = Open(kAnHour);
  AllocationInfo info, more;
  ASSERT_TRUE(card->Allocate(0, 8 * kGranule, 0, &info));
  card->Drop(info.id);
  EXPECT_EQ(card->Used(0), 8 * kGranule) << "nobody has it, and it is not there";
  EXPECT_FALSE(card->Allocate(0, kGranule, 0, &more));
  EXPECT_FALSE(card->Hold(info.id, &more)) << "it cannot be had again";
}

TEST_F(CardTest, LateReleaseNeedsNoFurtherCall) {
  const auto card = Open(1000);
  AllocationInfo info;
  ASSERT_TRUE(card->Allocate(0, 8 * kGranule, 0, &info));
  card->Drop(info.id);
  for (int i = 0; i < 10'000 && !card->Allocate(0, kGranule, 0, &info); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(card->Used(0), kGranule);
}

TEST_F(CardTest, FilesAreAsAccessibleAsTheirFolder) {
  ASSERT_EQ(chmod(options_.directory.c_str(), 0777), 0);
  const mode_t mask = umask(077);
  const auto card = Open();
  AllocationInfo info;
  EXPECT_TRUE(card->Allocate(0, kGranule, 0, &info));
  umask(mask);
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(options_.directory)) {
    struct stat status = {};
    ASSERT_EQ(stat(file.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0666u) << file.path();
    ++files;
  }
  EXPECT_EQ(files, 3u);
}

TEST_F(CardTest, MemoryLivesUntilLastHolderDrops) {
  const auto one = Open();
  const auto other = Open();
  AllocationInfo info, same;
  ASSERT_TRUE(one->Allocate(0, kGranule, 0, &info));
  ASSERT_TRUE(other->Hold(info.id, &same));
  EXPECT_EQ(same.bytes, kGranule);
  one->Drop(info.id);
  EXPECT_EQ(other->Used(0), kGranule);
  other->Drop(info.id);
  EXPECT_EQ(other->Used(0), 0u);
}

// A process is killed after dropping its hold, before the memory is freed.
TEST_F(CardTest, DeathDuringReleaseFreesMemory) {
  const auto card = Open();
  AllocationInfo info;
  ASSERT_TRUE(card->Allocate(0, 3 * kGranule, 0, &info));
  const pid_t child = fork();
  if (child == 0) {
    const int file = open((options_.directory + "/cards").c_str(), O_RDWR);
    auto* state = static_cast<CardState*>(
        mmap(nullptr, sizeof(CardState), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    pthread_mutex_lock(&state->mutex);
    state->allocations[0].holders = {};
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(card->Used(0), 0u);
}

// A process in a PID namespace of its own, where its id means nothing to the others.
TEST_F(CardTest, ProcessesOfOtherNamespacesLive) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(77);
    const pid_t inner = fork();
    if (inner == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const auto card = Open();
      AllocationInfo info;
      const char byte = card->Allocate(0, 3 * kGranule, 0, &info) ? 1 : 0;
      [[maybe_unused]] const auto written = write(ready[1], &byte, 1);
      pause();
    }
    close(ready[1]);
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WIFSIGNALED(status) ? 0 : 1);
  }
  close(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) {
    waitpid(outer, nullptr, 0);
    GTEST_SKIP() << "PID namespaces are not allowed";
  }
  EXPECT_EQ(byte, 1);
  {
    const auto card = Open();
    EXPECT_EQ(card->Used(0), 3 * kGranule);
  }
  kill(outer, SIGKILL);  // and with it the inner process
  ASSERT_EQ(waitpid(outer, nullptr, 0), outer);
  EXPECT_EQ(read(ready[0], &byte, 1), 0) << "the inner one has ended";
  const auto card = Open();
  EXPECT_EQ(card->Used(0), 0u);
}

// Two libraries of one process, of which only one has registered.
TEST_F(CardTest, AnObserverOfTheSameProcessTakesNothing) {
  const auto card = Open();
  AllocationInfo info;
  ASSERT_TRUE(card->Allocate(0, kGranule, 0, &info));
  EXPECT_EQ(Card::Open(options_, true)->Used(0), kGranule);
}

TEST_F(CardTest, FirstProcessSetsMemorySize) {
  const auto one = Open();
  options_.memory = 100 * kGranule;
  const auto other = Open();
  EXPECT_EQ(other->memory(0), 8 * kGranule);
}

}  // namespace card_test
}  // namespace fakecuda

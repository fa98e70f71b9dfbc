#include "reveza/gpu/swap/arena.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "reveza/gpu/swap/testing_driver.h"

namespace reveza::swap {
namespace arena_test {

TEST(ArenaTest, PreparedMemoryIsReused) {
  testing::TestingDriver gpu(64 * kMiB);
  HostArena arena(gpu.driver(), kGiB);
  ASSERT_TRUE(arena.Prepare(64 * kMiB));
  EXPECT_EQ(arena.pinned(), 64 * kMiB);
  EXPECT_EQ(gpu.registered, 1);
  for (int round = 0; round < 3; ++round) {
    HostSlot first = arena.Allocate(32 * kMiB);
    HostSlot second = arena.Allocate(32 * kMiB);
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    memset(first.data(), 1, 32 * kMiB);
    memset(second.data(), 2, 32 * kMiB);
    EXPECT_EQ(first.data()[32 * kMiB - 1], 1);
  }
  EXPECT_EQ(gpu.registered, 1);
}

TEST(ArenaTest, ChunksAreUsableBeforePrepareFinishes) {
  testing::TestingDriver gpu(64 * kMiB);
  HostArena arena(gpu.driver(), kGiB, "", 4 * kMiB);
  gpu.FailCall("HostRegister", 3, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FALSE(arena.Prepare(10 * kMiB));
  EXPECT_EQ(arena.pinned(), 8 * kMiB);
  HostSlot first = arena.Allocate(4 * kMiB);
  HostSlot second = arena.Allocate(4 * kMiB);
  EXPECT_TRUE(first && second);
  EXPECT_EQ(gpu.registered, 2);
  EXPECT_TRUE(arena.Prepare(10 * kMiB));
  EXPECT_EQ(arena.pinned(), 10 * kMiB);
}

TEST(ArenaTest, ConcurrentAllocateAndPrepareDoNotOvergrow) {
  testing::TestingDriver gpu(64 * kMiB);
  HostArena arena(gpu.driver(), kGiB, "", 2 * kMiB);
  std::thread preparing([&] { EXPECT_TRUE(arena.Prepare(64 * kMiB)); });
  std::vector<HostSlot> slots;
  for (int i = 0; i < 32; ++i) slots.push_back(arena.Allocate(2 * kMiB));
  preparing.join();
  for (const HostSlot& slot : slots) EXPECT_TRUE(slot);
  // Either thread may have grown it, but only once.
  EXPECT_EQ(arena.pinned(), 64 * kMiB);
}

TEST(ArenaTest, GrowsOnDemandUpToLimit) {
  testing::TestingDriver gpu(64 * kMiB);
  HostArena arena(gpu.driver(), 8 * kMiB);
  HostSlot first = arena.Allocate(6 * kMiB);
  EXPECT_TRUE(first);
  HostSlot second = arena.Allocate(4 * kMiB);
  EXPECT_FALSE(second);
  EXPECT_FALSE(arena.Prepare(16 * kMiB));
  EXPECT_EQ(arena.pinned(), 6 * kMiB);
}

TEST(ArenaTest, FailedRegistrationFreesMemory) {
  testing::TestingDriver gpu(64 * kMiB);
  HostArena arena(gpu.driver(), kGiB);
  gpu.FailCall("HostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FALSE(arena.Prepare(4 * kMiB));
  EXPECT_EQ(arena.pinned(), 0u);
  EXPECT_TRUE(arena.Prepare(4 * kMiB));
}

TEST(ArenaTest, StaysWithinHeadroom) {
  char name[] = "/tmp/reveza-arena-XXXXXX";
  const std::filesystem::path root = mkdtemp(name);
  std::filesystem::create_directories(root / "proc/self");
  std::ofstream(root / "proc/meminfo") << "MemAvailable:   200000 kB\n";
  testing::TestingDriver gpu(64 * kMiB);
  const std::string root_text = root.string();
  HostArena arena(gpu.driver(), kGiB, root_text.c_str());
  EXPECT_FALSE(arena.Prepare(4 * kMiB));
  std::ofstream(root / "proc/meminfo") << "MemAvailable:   2000000 kB\n";
  EXPECT_TRUE(arena.Prepare(4 * kMiB));
  std::filesystem::remove_all(root);
}

// The group of the test below: its registered memory is charged to memory.current.
const char* charged_file = nullptr;

CUresult ChargeRegistered(void*, size_t size, unsigned) {
  Bytes current = 0;
  std::ifstream(charged_file) >> current;
  sched_yield();
  // In place: a truncated file would not limit.
  std::string text = std::to_string(current + size);
  text.resize(20, ' ');
  std::fstream(charged_file) << text;
  return CUDA_SUCCESS;
}

TEST(ArenaTest, ProcessesOfOneGroupDoNotOvershoot) {
  constexpr Bytes kChunk = 2 * kMiB;
  constexpr Bytes kFree = 32 * kChunk;
  constexpr int kProcesses = 4;
  char name[] = "/tmp/reveza-arena-XXXXXX";
  const std::filesystem::path root = mkdtemp(name);
  const std::filesystem::path group = root / "sys/fs/cgroup/job";
  std::filesystem::create_directories(root / "proc/self");
  std::filesystem::create_directories(group);
  std::ofstream(root / "proc/self/cgroup") << "0::/job\n";
  std::ofstream(group / "memory.max") << 256 * kMiB + kFree << "\n";
  std::ofstream(group / "memory.current") << std::string(20, ' ') << "\n";
  std::fstream(group / "memory.current") << "0";
  const std::string charged = (group / "memory.current").string();
  charged_file = charged.c_str();
  setenv("REVEZA_SOCKET", (root / "socket").c_str(), 1);
  int start[2];
  ASSERT_EQ(pipe(start), 0);
  pid_t children[kProcesses];
  for (pid_t& child : children) {
    child = fork();
    if (child != 0) continue;
    testing::TestingDriver gpu(64 * kMiB);
    Driver driver = gpu.driver();
    driver.HostRegister = ChargeRegistered;
    const std::string root_text = root.string();
    HostArena arena(driver, kGiB, root_text.c_str(), kChunk);
    char ready = 0;
    close(start[1]);
    [[maybe_unused]] const ssize_t got = read(start[0], &ready, 1);  // the end of the pipe
    std::vector<HostSlot> slots;
    while (HostSlot slot = arena.Allocate(kChunk)) slots.push_back(std::move(slot));
    _exit(static_cast<int>(slots.size()));
  }
  close(start[0]);
  close(start[1]);
  int granted = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    granted += WEXITSTATUS(status);
  }
  EXPECT_EQ(granted, 32);
  unsetenv("REVEZA_SOCKET");
  std::filesystem::remove_all(root);
}

// The memory that the child of the test below has registered, of kAhead chunks.
std::atomic<int>* prepared = nullptr;

CUresult CountRegistered(void*, size_t, unsigned) {
  usleep(2'000);
  ++*prepared;
  return CUDA_SUCCESS;
}

TEST(ArenaTest, AnotherClientsNeedComesBeforeMemoryPreparedAhead) {
  constexpr Bytes kChunk = 2 * kMiB;
  constexpr int kAhead = 200;
  char name[] = "/tmp/reveza-arena-XXXXXX";
  const std::filesystem::path folder = mkdtemp(name);
  setenv("REVEZA_SOCKET", (folder / "socket").c_str(), 1);
  void* shared =
      mmap(nullptr, sizeof(*prepared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  prepared = new (shared) std::atomic<int>(0);
  testing::TestingDriver gpu(64 * kMiB);
  const pid_t child = fork();
  if (child == 0) {
    Driver driver = gpu.driver();
    driver.HostRegister = CountRegistered;
    HostArena arena(driver, kGiB, "", kChunk);
    _exit(arena.Prepare(kAhead * kChunk) ? 0 : 1);
  }
  while (*prepared == 0) usleep(100);
  HostArena arena(gpu.driver(), kGiB, "", kChunk);
  std::vector<HostSlot> slots;
  for (int i = 0; i < 20; ++i) {
    usleep(3'000);  // the other takes the lock again meanwhile
    slots.push_back(arena.Allocate(kChunk));
  }
  EXPECT_TRUE(slots.back());
  EXPECT_LT(*prepared, kAhead) << "needs waited until all was prepared";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  munmap(shared, sizeof(*prepared));
  unsetenv("REVEZA_SOCKET");
  std::filesystem::remove_all(folder);
}

TEST(ArenaTest, ReregistersAfterContextDestroy) {
  testing::TestingDriver gpu(64 * kMiB);
  HostArena arena(gpu.driver(), kGiB);
  ASSERT_TRUE(arena.Prepare(4 * kMiB));
  arena.InvalidateRegistrations();
  EXPECT_EQ(gpu.registered, 0);
  arena.EnsureRegistered();
  EXPECT_EQ(gpu.registered, 1);
  arena.EnsureRegistered();
  EXPECT_EQ(gpu.registered, 1);
}

TEST(ArenaTest, ForkedChildDoesNotInheritPages) {
  testing::TestingDriver gpu(64 * kMiB);
  HostArena arena(gpu.driver(), kGiB);
  HostSlot slot = arena.Allocate(2 * kMiB);
  slot.data()[0] = 1;
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    // MADV_DONTFORK: the page is not mapped in the child, so write() fails.
    const bool gone = write(pipe_fds[1], slot.data(), 1) < 0 && errno == EFAULT;
    _exit(gone ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

}  // namespace arena_test
}  // namespace reveza::swap

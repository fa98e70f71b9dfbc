#include "reveza/jobs/engine/testing_machine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include "reveza/jobs/supervisor/supervisor.h"

namespace reveza::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClockVariable = "REVEZA_TESTING_CLOCK";  // path of a file with the offset
constexpr std::int64_t kSecond = 1'000'000'000;

struct Machine {
  std::map<std::string, std::string> disk;  // synced content
  std::function<void(const std::string&)> listener;
  std::string refused;  // suffix; empty: none
  std::uint32_t file_system = 0;
};

Machine& TheMachine() {
  static Machine machine;
  return machine;
}

// Shared with supervisor processes.
std::atomic<std::int64_t>* MapClock() {
  const char* path = std::getenv(kClockVariable);
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(std::int64_t)) != 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<std::atomic<std::int64_t>*>(memory);
}

std::atomic<std::int64_t>* TheClock() {
  // The variable may be set after the first clock_gettime.
  static std::atomic<std::int64_t>* clock = nullptr;
  if (clock == nullptr) clock = MapClock();
  return clock;
}

std::string Bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int Synchronise(int descriptor) {
  std::error_code error;
  const auto path = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
  if (error || !fs::is_regular_file(path, error)) return 0;
  auto& machine = TheMachine();
  if (!machine.refused.empty() && path.native().ends_with(machine.refused)) {
    machine.refused.clear();
    errno = EIO;
    return -1;
  }
  machine.disk[path] = Bytes(path);
  if (machine.listener) machine.listener(path);
  return 0;
}

// Mixes old and new blocks of a file changed since its last sync.
std::string SomeOf(const std::string& synchronised, const std::string& now, std::mt19937& random) {
  constexpr std::size_t kPiece = 512;
  std::string found(random() % 2 == 0 ? now.size() : synchronised.size(), '\0');
  for (std::size_t at = 0; at < found.size(); at += kPiece) {
    const std::string& of = random() % 2 == 0 ? now : synchronised;
    const std::size_t end = std::min({at + kPiece, found.size(), of.size()});
    if (at < end) std::copy(&of[at], &of[at] + (end - at), &found[at]);
  }
  return found;
}

}  // namespace

void CutPower(const fs::path& from, const fs::path& to, Survives survives, std::mt19937& random) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    // By name only: running supervisors still remove files.
    const auto target = to / entry.path().lexically_relative(from);
    if (entry.is_directory()) fs::create_directories(target);
    // Shared memory is not on disk.
    if (!entry.is_regular_file() || entry.path().native().ends_with("-shm")) continue;
    const auto& disk = TheMachine().disk;
    const auto synchronised = disk.find(entry.path());
    const bool was = synchronised != disk.end();
    if (survives == Survives::kNothing && !was) continue;
    if (!was && random() % 3 == 0) continue;
    fs::create_directories(target.parent_path());
    const std::string before = was ? synchronised->second : std::string();
    std::ofstream(target, std::ios::binary)
        << (survives == Survives::kNothing ? before : SomeOf(before, Bytes(entry.path()), random));
  }
}

void OnSynchronised(std::function<void(const std::string&)> listener) {
  TheMachine().listener = std::move(listener);
}

void RefuseToSynchronise(std::string ending) { TheMachine().refused = std::move(ending); }

void SetClock(std::int64_t ahead) {
  if (TheClock() != nullptr) TheClock()->store(ahead);
}

void SetFileSystem(std::uint32_t type) { TheMachine().file_system = type; }

}  // namespace reveza::testing

// Override the library's functions for the whole program.
extern "C" {

[[gnu::visibility("default")]] int fsync(int descriptor) {
  return reveza::testing::Synchronise(descriptor);
}

[[gnu::visibility("default")]] int fdatasync(int descriptor) {
  return reveza::testing::Synchronise(descriptor);
}

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto status = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  const auto* ahead = clock == CLOCK_REALTIME ? reveza::testing::TheClock() : nullptr;
  if (status != 0 || ahead == nullptr) return status;
  const std::int64_t now = time->tv_sec * reveza::testing::kSecond + time->tv_nsec + ahead->load();
  time->tv_sec = now / reveza::testing::kSecond;
  time->tv_nsec = now % reveza::testing::kSecond;
  return 0;
}

[[gnu::visibility("default")]] int statfs(const char* path, struct statfs* about) noexcept {
  const auto status = static_cast<int>(syscall(SYS_statfs, path, about));
  const auto type = reveza::testing::TheMachine().file_system;
  if (status == 0 && type != 0) about->f_type = static_cast<__fsword_t>(type);
  return status;
}

}  // extern "C"

// Acts as a supervisor with the simulated clock if started like one.
int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "3") {
    return reveza::jobs::Supervise(std::atoi(argv[1]), argv[2]);
  }
  std::string clock = std::filesystem::temp_directory_path() / "reveza-test-clock-XXXXXX";
  const int file = mkstemp(clock.data());
  if (file >= 0) close(file);
  setenv("REVEZA_TESTING_CLOCK", clock.c_str(), 1);
  ::testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  unlink(clock.c_str());
  return status;
}

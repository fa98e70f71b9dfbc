#include "fakecuda/card.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>

namespace fakecuda {
namespace {

constexpr std::uint64_t kMagic = 0x66616b6563756439;  // changes with the layout

// Returns when this process has started, in ticks since boot.
std::uint64_t StartTime() {
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[1024];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* rest = std::strrchr(text, ')');
  for (int field = 2; field < 22 && rest != nullptr; ++field) rest = std::strchr(rest + 1, ' ');
  return rest == nullptr ? 0 : std::strtoull(rest, nullptr, 10);
}

// Returns a number that tells the slots of this process from those of others, also of other PID
// namespaces. libcuda.so.1 and libnvidia-ml.so.1 have the same one.
std::uint64_t OwnToken() {
  struct stat space = {};
  stat("/proc/self/ns/pid", &space);
  const auto pid = static_cast<std::uint64_t>(getpid());
  return (StartTime() << 22 | pid) * 0x9E3779B97F4A7C15 ^ space.st_ino;
}

struct flock SlotLock(int slot) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = slot;
  lock.l_len = 1;
  return lock;
}

// Returns the file of which each living process locks one byte, its slot. Unlike process ids, locks
// hold across PID namespaces. The file is never closed, since that would drop the locks.
int LivingProcesses(const std::string& directory) {
  static std::mutex mutex;
  static auto* const files = new std::map<std::string, int>;
  const std::lock_guard lock(mutex);
  const auto [file, added] = files->try_emplace(directory, -1);
  if (file->second < 0) {
    file->second = OpenOrCreate(directory + "/living", O_RDWR | O_CREAT | O_CLOEXEC);
  }
  return file->second;
}

}  // namespace

int OpenOrCreate(const std::string& path, int flags) {
  struct stat folder = {};
  if (stat(path.substr(0, path.rfind('/')).c_str(), &folder) != 0) return -1;
  const mode_t mode = (folder.st_mode & 0666) | 0600;
  const int file = open(path.c_str(), flags, mode);
  // The umask may have taken some of it away. Only the file's owner can give it back.
  if (file >= 0 && (flags & O_CREAT) != 0) (void)fchmod(file, mode);
  return file;
}

bool Card::IsAway() {
  Lock lock(state_);
  return std::ranges::any_of(state_->processes, [this](const ProcessSlot& process) {
    return process.pid != 0 && process.token == token_ &&
           std::ranges::any_of(process.away_context_bytes, [](auto bytes) { return bytes > 0; });
  });
}

bool Card::IsAlive(int slot) const {
  if (state_->processes[slot].token == token_) return true;
  struct flock lock = SlotLock(slot);
  const int file = LivingProcesses(directory_);
  return file < 0 || fcntl(file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

std::uint64_t NowNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::unique_ptr<Card> Card::Open(const Options& options, bool observer) {
  std::unique_ptr<Card> card(new Card());
  card->directory_ = options.directory;
  card->token_ = OwnToken();
  card->late_release_nanoseconds_ = options.late_release_microseconds * 1000;
  if (!card->MapState(options, observer)) {
    if (!observer) {
      std::fprintf(stderr, "fakecuda: cannot use the folder %s: %s\n", options.directory.c_str(),
                   std::strerror(errno));
    }
    return nullptr;
  }
  if (!observer && !card->Register()) {
    std::fprintf(stderr, "fakecuda: more than %d processes in %s\n", kMaxProcesses,
                 options.directory.c_str());
    return nullptr;
  }
  return card;
}

Card::~Card() {
  if (state_ == nullptr) return;
  if (process_ >= 0) Unregister();
  munmap(state_, sizeof(CardState));
}

void Card::Unregister() {
  Lock lock(state_);
  RemoveProcess(process_);
  struct flock unlock = SlotLock(process_);
  unlock.l_type = F_UNLCK;
  fcntl(LivingProcesses(directory_), F_SETLK, &unlock);
  Reclaim();
}

bool Card::MapState(const Options& options, bool observer) {
  if (!observer && mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) return false;
  const std::string path = directory_ + "/cards";
  const int flags = observer ? O_RDWR | O_CLOEXEC : O_RDWR | O_CREAT | O_CLOEXEC;
  const int file = OpenOrCreate(path, flags);
  if (file < 0) return false;
  flock(file, LOCK_EX);
  struct stat status = {};
  fstat(file, &status);
  const bool fresh = static_cast<std::size_t>(status.st_size) != sizeof(CardState);
  if (fresh && (observer || ftruncate(file, 0) != 0 || ftruncate(file, sizeof(CardState)) != 0)) {
    close(file);
    return false;
  }
  void* memory = mmap(nullptr, sizeof(CardState), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) {
    state_ = static_cast<CardState*>(memory);
    if (!observer) Initialise(options, fresh || state_->magic != kMagic);
  }
  flock(file, LOCK_UN);  // the mapping would keep the open file, and so the lock
  close(file);
  return state_ != nullptr;
}

// Call under the file lock. The first process, or the first after all have exited, sets the number
// and size of the devices.
void Card::Initialise(const Options& options, bool fresh) {
  if (fresh) {
    std::memset(static_cast<void*>(state_), 0, sizeof(CardState));
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&state_->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    state_->next_id = 1;
    state_->magic = kMagic;
  }
  Lock lock(state_);
  Reclaim();
  const bool alone =
      std::ranges::all_of(state_->processes, [](const ProcessSlot& slot) { return slot.pid == 0; });
  if (!alone) return;
  for (AllocationSlot& slot : state_->Slots()) {
    if (slot.state != AllocationState::kFree) Free(&slot);
  }
  const std::vector<std::uint64_t>& instances = options.instances;
  state_->partitioned = !instances.empty();
  const int devices = instances.empty() ? options.devices : static_cast<int>(instances.size());
  state_->devices = std::clamp(devices, 1, kMaxDevices);
  for (int device = 0; device < state_->devices; ++device) {
    state_->memory[device] =
        instances.empty() ? options.memory : instances[static_cast<std::size_t>(device)];
  }
  state_->link = options.link;
  state_->host_memory = options.host_memory;
}

bool Card::Register() {
  Lock lock(state_);
  for (int i = 0; i < kMaxProcesses; ++i) {
    if (state_->processes[i].pid != 0) continue;
    state_->processes[i] = ProcessSlot{};
    struct flock alive = SlotLock(i);
    if (fcntl(LivingProcesses(directory_), F_SETLK, &alive) != 0) continue;
    state_->processes[i].token = token_;
    state_->processes[i].pid = getpid();
    process_ = i;
    return true;
  }
  return false;
}

void Card::Reclaim() {
  for (int i = 0; i < kMaxProcesses; ++i) {
    const ProcessSlot& process = state_->processes[i];
    if (process.pid != 0 && !IsAlive(i)) RemoveProcess(i);
  }
  const std::uint64_t now = NowNanoseconds();
  for (AllocationSlot& slot : state_->Slots()) {
    if (slot.state == AllocationState::kReleasing && slot.release_at <= now) Free(&slot);
    if (slot.state == AllocationState::kExported && !ExportInUse(slot)) Free(&slot);
  }
}

void Card::RemoveProcess(int process) {
  ProcessSlot& gone = state_->processes[process];
  for (AllocationSlot& slot : state_->Slots()) {
    const bool held = slot.state == AllocationState::kHeld || slot.state == AllocationState::kAway;
    if (!held || !slot.holders.Has(process)) continue;
    slot.holders.Remove(process);
    if (slot.holders.Empty()) ReleaseUnheld(&slot);
  }
  for (EventSlot& event : state_->events) {
    if (event.id == 0 || !event.holders.Has(process)) continue;
    event.holders.Remove(process);
    if (event.holders.Empty()) event.id = 0;
  }
  for (int device = 0; device < kMaxDevices; ++device) {
    state_->used[device] -= gone.context_bytes[device] + gone.managed[device];
    gone.context_bytes[device] = gone.managed[device] = 0;
  }
  gone.pid = 0;
}

ProcessSlot Card::Self() {
  Lock lock(state_);
  return process_ < 0 ? ProcessSlot{} : state_->processes[process_];
}

std::unique_ptr<CardState> Card::Snapshot() {
  auto copy = std::make_unique<CardState>();
  Lock lock(state_);
  Reclaim();
  // Copy only the used slots: touching the others would fill the sparse file.
  const std::size_t used =
      offsetof(CardState, allocations) +
      sizeof(AllocationSlot) * static_cast<std::size_t>(state_->allocations_used);
  std::memcpy(static_cast<void*>(copy.get()), state_, used);
  return copy;
}

}  // namespace fakecuda

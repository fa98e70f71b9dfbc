#include "reveza/gpu/calls/call_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "common/base/mutex.h"
#include "generated/calls/recorded_calls.h"
#include "reveza/gpu/calls/encoder.h"

namespace reveza::calls {

// Frees the records of a thread that exits.
struct ThreadRecordsDeleter {
  static void Delete(void* records);
};

namespace {

enum class State { kUnopened, kOpen, kOff };

constinit Mutex opening_mutex;
constinit std::atomic<State> recording_state = State::kUnopened;
constinit std::atomic<std::uint64_t> file_end = 0;
constinit std::atomic<std::uint64_t> sequence = 0;
constinit std::atomic<std::uint32_t> threads = 0;
constinit std::atomic<unsigned> generation = 1;
constinit int file = -1;
constinit pthread_key_t exit_key = 0;
constinit bool prepared = false;  // the key and the handler of forks

constinit thread_local ThreadRecords* own = nullptr;
constinit thread_local std::uint32_t own_number = 0;
constinit thread_local unsigned own_number_generation = 0;

constexpr std::size_t kBlockBytes = 64 << 10;
constexpr std::size_t kTableBytes = 256 << 10;

// The child starts over: its calls belong to another file.
void AfterFork() {
  new (&opening_mutex) Mutex;
  if (file >= 0) close(file);
  file = -1;
  file_end = 0;
  sequence = 0;
  threads = 0;
  ++generation;
  recording_state = State::kUnopened;
}

// Opens the first of FILE, FILE.PID, FILE.PID.2, ... that does not exist.
int CreateFile(const char* path, char* name, std::size_t bytes) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (attempt == 0) snprintf(name, bytes, "%s", path);
    if (attempt == 1) snprintf(name, bytes, "%s.%d", path, getpid());
    if (attempt > 1) snprintf(name, bytes, "%s.%d.%d", path, getpid(), attempt);
    const int opened = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (opened >= 0 || errno != EEXIST) return opened;
  }
  return -1;
}

void EncodeTables(Encoder& out) {
  out.Text(program_invocation_short_name);
  out.Number(TypeRows().size());
  for (const TypeRow& type : TypeRows()) {
    out.Text(type.name);
    out.Byte(static_cast<unsigned char>(type.kind));
    out.Number(type.bytes);
    out.Number(type.fields.size());
    for (const FieldRow& field : type.fields) {
      out.Number(field.offset);
      out.Number(field.type);
      out.Number(field.count);
    }
  }
  out.Number(CallRows().size());
  for (const CallRow& call : CallRows()) {
    out.Text(call.name);
    out.Number(call.parameters.size());
    for (const ParameterRow& parameter : call.parameters) {
      out.Byte(static_cast<unsigned char>(parameter.mode));
      out.Number(parameter.type);
      out.Number(static_cast<std::uint64_t>(parameter.count) + 1);
    }
  }
}

bool WriteHeader(int to) {
  auto* const buffer = static_cast<unsigned char*>(calloc(1, kTableBytes));
  if (buffer == nullptr) return false;
  FileHeader header{};
  Encoder tables(buffer + sizeof header, kTableBytes - sizeof header);
  EncodeTables(tables);
  memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.table_bytes = static_cast<std::uint32_t>(tables.size());
  const auto used = static_cast<std::uint32_t>(sizeof header + tables.size());
  header.header_bytes = (used + kPage - 1) / kPage * kPage;
  header.pid = static_cast<std::uint32_t>(getpid());
  memcpy(buffer, &header, sizeof header);
  file_end = header.header_bytes;
  const bool written = !tables.overflown() && write(to, buffer, header.header_bytes) ==
                                                  static_cast<ssize_t>(header.header_bytes);
  free(buffer);
  return written;
}

void Open() {
  const char* path = getenv("REVEZA_CALLS_FILE");
  if (path == nullptr || path[0] == '\0') {
    recording_state.store(State::kOff, std::memory_order_release);
    return;
  }
  if (!prepared) {
    prepared = true;
    pthread_key_create(&exit_key, ThreadRecordsDeleter::Delete);
    pthread_atfork(nullptr, nullptr, AfterFork);
  }
  char name[4096];
  file = CreateFile(path, name, sizeof name);
  if (file < 0 || !WriteHeader(file)) {
    StopRecording(name, errno);
    return;
  }
  recording_state.store(State::kOpen, std::memory_order_release);
}

}  // namespace

bool IsRecording() {
  const State now = recording_state.load(std::memory_order_acquire);
  if (now != State::kUnopened) [[likely]] {
    return now == State::kOpen;
  }
  const MutexLock lock(opening_mutex);
  if (recording_state.load(std::memory_order_relaxed) == State::kUnopened) Open();
  return recording_state.load(std::memory_order_relaxed) == State::kOpen;
}

void StopRecording(const char* what, int error) {
  if (recording_state.exchange(State::kOff) == State::kOff) return;
  char line[4400];
  const int bytes =
      snprintf(line, sizeof line, "reveza: cannot record the driver calls of process %d: %s: %s\n",
               getpid(), what, strerror(error));
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, line, static_cast<std::size_t>(bytes));
}

std::uint64_t NextSequence() { return sequence.fetch_add(1, std::memory_order_acq_rel) + 1; }

ThreadRecords* ThreadRecords::Acquire() {
  if (!IsRecording()) return nullptr;
  const unsigned now = generation.load(std::memory_order_relaxed);
  if (own == nullptr || own->generation_ != now) {
    // That of before a fork is left alone: its block belongs to the file of the parent.
    auto* made = new ThreadRecords;
    if (own_number_generation != now) {
      own_number = threads.fetch_add(1, std::memory_order_relaxed);
      own_number_generation = now;
    }
    made->generation_ = now;
    made->thread_ = own_number;
    own = made;
    pthread_setspecific(exit_key, made);
  }
  if (own->busy_) return nullptr;
  own->busy_ = true;
  return own;
}

bool ThreadRecords::NewBlock(std::size_t bytes) {
  Unmap();
  std::size_t size = next_bytes_;
  while (size < bytes + sizeof(BlockHeader)) size *= 2;
  next_bytes_ = size * 2 < kBlockBytes ? size * 2 : kBlockBytes;
  const auto offset = static_cast<off_t>(file_end.fetch_add(size, std::memory_order_relaxed));
  // Allocates: a write to a mapped hole of a full disk would end the process.
  if (const int error = posix_fallocate(file, offset, static_cast<off_t>(size)); error != 0) {
    StopRecording("writing", error);
    return false;
  }
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  if (mapped == MAP_FAILED) {
    StopRecording("mapping", errno);
    return false;
  }
  block_ = static_cast<BlockHeader*>(mapped);
  block_->bytes = static_cast<std::uint32_t>(size);
  block_->thread = thread_;
  block_->used = 0;
  std::atomic_ref(block_->magic).store(kBlockMagic, std::memory_order_release);
  last_sequence_ = 0;
  return true;
}

void ThreadRecords::Unmap() {
  if (block_ != nullptr) munmap(block_, block_->bytes);
  block_ = nullptr;
}

void ThreadRecords::Append(std::size_t bytes, std::uint64_t number) {
  // Both numbers before the record are at most ten bytes.
  constexpr std::size_t kBefore = 20;
  if (block_ == nullptr || sizeof(BlockHeader) + block_->used + kBefore + bytes > block_->bytes) {
    if (!NewBlock(kBefore + bytes)) return;
  }
  auto* const to = reinterpret_cast<unsigned char*>(block_ + 1) + block_->used;
  Encoder out(to, kBefore);
  out.Number(bytes);
  out.Number(number - last_sequence_);
  memcpy(to + out.size(), scratch_, bytes);
  last_sequence_ = number;
  std::atomic_ref(block_->used)
      .store(block_->used + static_cast<std::uint32_t>(out.size() + bytes),
             std::memory_order_release);
}

void ThreadRecordsDeleter::Delete(void* records) {
  auto* const ended = static_cast<ThreadRecords*>(records);
  // The block of a thread that forked is that of the parent, whose mapping the child has too.
  ended->Unmap();
  if (own == ended) own = nullptr;
  delete ended;
}

}  // namespace reveza::calls

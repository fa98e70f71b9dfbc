// The agent without a daemon: none was there, it went, or it speaks another version. The program
// runs on. If its memory is swapped out it comes back all or nothing, one process of a GPU at a
// time, and only into memory that is really free.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/agent.h"
#include "interpose/driver_calls.h"
#include "interpose/gate.h"
#include "interpose/gate_wait.h"
#include "interpose/queue_bound.h"
#include "swap/sync.h"

namespace reveza::interpose {
namespace {

constexpr std::int64_t kReconnectUs = 1'000'000;
// A daemon that was lost may be started again at once: for this long nothing is decided alone.
constexpr std::int64_t kGraceUs = 3'000'000;
constexpr std::int64_t kReconnectInGraceUs = 100'000;
// Left free when a client comes back by itself: modules and local memory of whoever runs.
constexpr Bytes kComeBackReserve = 64 * kMiB;

// The lock of one GPU among all clients of one socket. Records of fcntl belong to the process: a
// forked child does not inherit them, and they go when the process dies.
class GpuLock {
 public:
  explicit GpuLock(const CUuuid& uuid) {
    const char* socket = getenv("REVEZA_SOCKET");
    char path[512];
    int length =
        snprintf(path, sizeof(path) - 64, "%s", socket == nullptr ? "/tmp/reveza" : socket);
    if (length < 0 || length >= static_cast<int>(sizeof(path)) - 64) return;
    length += snprintf(path + length, 8, ".gpu-");
    for (const char byte : uuid.bytes) {
      length += snprintf(path + length, 4, "%02x", static_cast<unsigned char>(byte));
    }
    fd_ = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd_ < 0) return;
    struct flock record{};
    record.l_type = F_WRLCK;
    record.l_whence = SEEK_SET;
    held_ = fcntl(fd_, F_SETLK, &record) == 0;
  }
  ~GpuLock() {
    if (fd_ >= 0) close(fd_);
  }
  GpuLock(const GpuLock&) = delete;
  GpuLock& operator=(const GpuLock&) = delete;
  // Where no lock file can be made (no folder, another user's) the look at free memory must do.
  bool may_go_on() const { return held_ || fd_ < 0; }

 private:
  int fd_ = -1;
  bool held_ = false;
};

}  // namespace

void Agent::Connect() {
  next_try_us_ = swap::NowMicroseconds() + (MayReturnSoon() ? kReconnectInGraceUs : kReconnectUs);
  welcomed_ = false;
  if (refused_ || !connection_.Open()) return;
  const bool resuming = !gpus_.empty();
  wire::Hello hello{};
  hello.job = client_.job_;
  hello.flags =
      (client_.resident_ ? wire::kHelloResident : 0u) | (resuming ? wire::kHelloResuming : 0u);
  hello.gate_open = gate_ == GateState::kOpen ? 1 : 0;
  const char* name = getenv("REVEZA_NAME");
  wire::CopyText(hello.name, sizeof(hello.name), name == nullptr ? "" : name);
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t got = read(fd, hello.command, sizeof(hello.command) - 1);
    for (ssize_t i = 0; i + 1 < got; ++i) {
      if (hello.command[i] == '\0') hello.command[i] = ' ';
    }
    close(fd);
  }
  connection_.Send(hello);
}

void Agent::OnWelcome(const wire::Welcome& welcome) {
  welcomed_ = true;
  QueueBound::SetBound(welcome.queue_bound_us);
  if (warned_alone_) Say("a daemon is there again: the GPU is shared");
  warned_alone_ = false;
  if (gpus_.empty()) return;
  // The daemon is newer than we are: it takes us as we stand. An open gate is one that it lets be.
  told_to_open_ = gate_ == GateState::kOpen;
  client_.ledger_.SetResidency(gate_ == GateState::kOpen ? swap::Residency::kIn
                                                         : swap::Residency::kOut);
  gate_wanted_sent_ = false;
  for (Gpu& gpu : gpus_) {
    client_.ledger_.TakeSpare(gpu.ordinal, 0);
    const swap::Books books = client_.ledger_.GetBooks(gpu.ordinal);
    wire::Resumed resumed{};
    memcpy(resumed.uuid, gpu.uuid.bytes, sizeof(resumed.uuid));
    resumed.total = gpu.total;
    resumed.resident = books.resident;
    resumed.swapped = books.swapped;
    resumed.pinned = books.pinned;
    resumed.context = books.context;
    resumed.credit = books.resident + books.pinned + books.context;
    connection_.Send(resumed);
  }
  client_.BooksChanged();  // the arena is in the books alone
}

bool Agent::MayReturnSoon() const { return swap::NowMicroseconds() < alone_from_us_; }

void Agent::LoseDaemon() {
  connection_.Close();
  const bool knew_it = welcomed_;
  if (knew_it) {
    alone_from_us_ = swap::NowMicroseconds() + kGraceUs;
    next_try_us_ = 0;
  }
  welcomed_ = false;
  swapping_in_ = false;
  retry_soon_ = false;
  told_to_open_ = false;
  contention_ = false;
  // The next daemon hears how the gate stands when it is greeted, and that must not change
  // meanwhile.
  if (gate_ == GateState::kOpening) gate_ = GateState::kClosed;
  if (!warned_alone_ && !refused_) {
    Say("%s; this program runs on without it", knew_it ? "lost the daemon" : "no daemon answers");
    warned_alone_ = true;
  }
  for (Gpu& gpu : gpus_) gpu.admitted = false;
  // Where a context was only asked for nothing can be resumed: it is asked for anew.
  std::erase_if(gpus_, [](const Gpu& gpu) { return !gpu.granted; });
  swap::MutexLock lock(client_.requests_mutex_);
  for (GrowthRequest* request : client_.growth_sent_) client_.growth_wanted_.push_back(request);
  client_.growth_sent_.clear();
  for (ContextRequest* request : client_.contexts_wanted_) request->sent = false;
}

void Agent::TryReconnect() {
  if (refused_ || swap::NowMicroseconds() < next_try_us_) return;
  if (getenv("REVEZA_SOCKET") == nullptr) {
    refused_ = true;
    return;
  }
  Connect();
}

// An open gate stays open, without bounds. A closed one opens when all the memory is back.
void Agent::TryComeBack() {
  if (connection_.is_open() || MayReturnSoon()) return;
  if (gate_ == GateState::kOpen) {
    if (client_.ledger_.residency() != swap::Residency::kUnmanaged) {
      client_.ledger_.SetResidency(swap::Residency::kUnmanaged);
      Gate::SetBounded(false);
    }
    return;
  }
  for (const Gpu& gpu : gpus_) {
    const Bytes missing = mover_.MissingCredit(gpu.ordinal);
    if (missing == 0) continue;
    GpuLock gpu_lock(gpu.uuid);
    const CUcontext context = client_.ContextOf(gpu.ordinal);
    if (!gpu_lock.may_go_on() || context == nullptr) return;
    swap::CurrentContext current(client_.swap_driver_, context);
    std::size_t free = 0;
    std::size_t total = 0;
    if (Real().cuMemGetInfo_v2(&free, &total) != CUDA_SUCCESS) return;
    const bool tight = free < missing + kComeBackReserve && free < total / 4 * 3;
    if (tight || free < missing) {
      // Two that each hold a part and wait for the rest would wait for ever: all or nothing.
      const Bytes held = client_.ledger_.GetBooks(gpu.ordinal).resident;
      if (held > 0) mover_.Evict(gpu.ordinal, held, [](void*, int, Bytes) {}, nullptr);
      return;
    }
    client_.ledger_.AddCredit(gpu.ordinal, missing);
    // With the lock held and the memory seen to be free this ends; if somebody outside took it
    // meanwhile, what came in goes back to being out and we try again later.
    if (!BringInAlone()) {
      mover_.Evict(gpu.ordinal, missing, [](void*, int, Bytes) {}, nullptr);
      return;
    }
  }
  if (BringInAlone()) OpenNow();
}

bool Agent::BringInAlone() {
  for (int attempt = 0; attempt < 500; ++attempt) {
    const swap::SwapInState state = mover_.SwapInStep();
    mover_.TakeCopiedIn();
    if (state == swap::SwapInState::kDone) return true;
    if (state == swap::SwapInState::kNeedCredit) return false;
    usleep(2000);
  }
  return false;
}

// Nobody to ask: everything is granted, as far as the card goes.
void Agent::AnswerAllAlone() {
  if (MayReturnSoon()) return;
  swap::MutexLock lock(client_.requests_mutex_);
  for (ContextRequest* request : client_.contexts_wanted_) {
    if (FindGpu(request->ordinal) == nullptr) {
      Gpu gpu;
      gpu.ordinal = request->ordinal;
      gpu.uuid = request->uuid;
      gpu.total = request->total;
      gpu.granule = swap::kGranularity;
      gpu.granted = true;
      gpus_.push_back(gpu);
    }
    request->budget = Client::EmulatedTotal(request->total);
    request->answered = true;
  }
  for (GrowthRequest* request : client_.growth_wanted_) {
    request->answer = gate_ == GateState::kOpen ? Answer::kGranted : Answer::kLater;
    client_.ledger_.Permit(request->ordinal, request->bytes);
    request->answered = true;
  }
  if (!client_.contexts_wanted_.empty() && !warned_alone_ && !refused_) {
    Say("no daemon answers; this program runs without sharing the GPU");
    warned_alone_ = true;
  }
  client_.contexts_wanted_.clear();
  client_.growth_wanted_.clear();
  client_.made_.clear();
  client_.answered_.NotifyAll();
}

}  // namespace reveza::interpose

#include "reveza/gpu/interpose/queue_bound.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/context_guard.h"
#include "reveza/gpu/interpose/gate_wait.h"

namespace reveza::interpose {
namespace {

constexpr int kStreamsPerThread = 8;
constinit std::atomic<std::int64_t> queue_bound_us{100'000};

struct Batch {
  CUevent done = nullptr;
  std::int64_t recorded_us = 0;
};

struct StreamQueue {
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  int submissions = 0;  // since the last event
  int outstanding = 0;
  Batch batches[2];  // oldest first
  std::int64_t last_done_us = 0;
  Window window;
  Patience patience;
};

// Reused, with their events, by a later thread; see AcquireFromList().
struct ThreadQueues {
  StreamQueue queues[kStreamsPerThread];
  int used = 0;
  int next_victim = 0;
  std::atomic<bool> taken{false};
  ThreadQueues* next = nullptr;
};

constinit std::atomic<ThreadQueues*> all_queues{nullptr};
constinit thread_local ThreadQueues* thread_queues = nullptr;
pthread_key_t queues_key;
pthread_once_t queues_key_once = PTHREAD_ONCE_INIT;

void ReleaseQueues(void* value) {
  thread_queues = nullptr;
  static_cast<ThreadQueues*>(value)->taken.store(false, std::memory_order_release);
}

void MakeQueuesKey() { pthread_key_create(&queues_key, ReleaseQueues); }

ThreadQueues& AcquireQueues() {
  pthread_once(&queues_key_once, MakeQueuesKey);
  thread_queues = AcquireFromList(all_queues);
  pthread_setspecific(queues_key, thread_queues);
  return *thread_queues;
}

CUstream Handle(CUstream stream, StreamKind kind) {
  return stream == nullptr && kind == StreamKind::kPerThread ? CU_STREAM_PER_THREAD : stream;
}

StreamQueue* Find(CUstream stream) {
  ThreadQueues* all = thread_queues;
  if (all == nullptr) return nullptr;
  CUcontext context = nullptr;
  Real().cuCtxGetCurrent(&context);
  for (int i = 0; i < all->used; ++i) {
    if (all->queues[i].stream == stream && all->queues[i].context == context) {
      return &all->queues[i];
    }
  }
  return nullptr;
}

// Events of a destroyed context are destroyed with it; destroying them again merely fails.
void Clear(StreamQueue& queue) {
  const RelaxedCapture relaxed;
  for (Batch& batch : queue.batches) {
    if (batch.done != nullptr) Real().cuEventDestroy_v2(batch.done);
  }
  queue = StreamQueue{};
}

StreamQueue* FindOrAdd(CUstream stream) {
  ThreadQueues& all = thread_queues != nullptr ? *thread_queues : AcquireQueues();
  if (StreamQueue* found = Find(stream)) return found;
  StreamQueue* queue = nullptr;
  if (all.used < kStreamsPerThread) {
    queue = &all.queues[all.used++];
  } else {
    int tries = 0;
    do {  // what has been learned is kept, if possible
      queue = &all.queues[all.next_victim++ % kStreamsPerThread];
    } while (queue->patience.exhausted() && ++tries < kStreamsPerThread);
    Clear(*queue);
  }
  queue->stream = stream;
  Real().cuCtxGetCurrent(&queue->context);
  return queue;
}

void PopOldest(StreamQueue& queue, bool waited) {
  const std::int64_t now = NowMicroseconds();
  const std::int64_t began = std::max(queue.batches[0].recorded_us, queue.last_done_us);
  queue.window.OnBatchDone(now - began, queue_bound_us.load(std::memory_order_relaxed), waited);
  queue.last_done_us = now;
  std::swap(queue.batches[0], queue.batches[1]);
  --queue.outstanding;
}

// Gives up waiting for the older batch.
void Expire(StreamQueue& queue) {
  static constinit std::atomic<bool> told{false};
  std::swap(queue.batches[0], queue.batches[1]);
  --queue.outstanding;
  queue.patience.OnExpired();
  if (queue.patience.exhausted() && !told.exchange(true, std::memory_order_relaxed)) {
    PrintNotice(
        "a CUDA stream waits for its own program: its queue is not bounded any more, and other"
        " programs may have to wait longer for the GPU");
  }
}

bool WaitsForHost() {
  Client* client = Client::Get();
  return client != nullptr && client->host_waits().Pending(HostWaits::Kind::kValue);
}

bool CaptureInProgress() {
  Client* client = Client::Get();
  return client != nullptr && client->captures().Any();
}

}  // namespace

void Window::OnBatchDone(std::int64_t batch_us, std::int64_t bound_us, bool waited) {
  const std::int64_t target = bound_us / 2;
  if (waited && batch_us > target) {
    size_ = std::max<int>(1, static_cast<int>(size_ * target / batch_us));
  } else if (!waited || batch_us < target / 2) {
    size_ = std::min(kMaxSize, size_ * 2);
  }
}

void QueueBound::SetBound(std::int64_t microseconds) {
  queue_bound_us.store(microseconds, std::memory_order_relaxed);
}

bool QueueBound::MustWait(CUstream stream, StreamKind kind) {
  StreamQueue* queue = Find(Handle(stream, kind));
  if (queue == nullptr || queue->outstanding < 2 || queue->patience.exhausted() ||
      CaptureInProgress()) {
    return false;
  }
  const RelaxedCapture relaxed;  // a capture may begin concurrently
  if (Real().cuEventQuery(queue->batches[0].done) == CUDA_ERROR_NOT_READY) return true;
  PopOldest(*queue, false);
  return false;
}

void QueueBound::Wait(CUstream stream, StreamKind kind) {
  StreamQueue* queue = Find(Handle(stream, kind));
  if (queue == nullptr || queue->outstanding < 2) return;
  const std::int64_t began = NowMicroseconds();
  const std::int64_t bound = queue_bound_us.load(std::memory_order_relaxed);
  useconds_t pause = 50;
  while (gate_internal::state.load(std::memory_order_acquire) == gate_internal::kBounded) {
    {
      const ContextGuard guard;  // the gate may close, and the contexts leave
      const RelaxedCapture relaxed;
      if (Real().cuEventQuery(queue->batches[0].done) != CUDA_ERROR_NOT_READY) {
        queue->patience.OnDone();
        return PopOldest(*queue, true);
      }
    }
    if (NowMicroseconds() - began >= queue->patience.LimitUs(bound, WaitsForHost())) {
      return Expire(*queue);
    }
    usleep(pause);
    if (pause < 500) pause *= 2;
  }
}

void QueueBound::OnSubmit(CUstream stream, StreamKind kind) {
  if (CaptureInProgress()) return;
  StreamQueue& queue = *FindOrAdd(Handle(stream, kind));
  if (queue.patience.exhausted()) return;
  if (++queue.submissions < queue.window.size() || queue.outstanding == 2) return;
  queue.submissions = 0;
  const RelaxedCapture relaxed;
  Batch& batch = queue.batches[queue.outstanding];
  if (batch.done == nullptr &&
      Real().cuEventCreate(&batch.done, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC) !=
          CUDA_SUCCESS) {
    batch.done = nullptr;
    return;
  }
  if (Real().cuEventRecord(batch.done, queue.stream) != CUDA_SUCCESS) return;
  batch.recorded_us = NowMicroseconds();
  ++queue.outstanding;
}

}  // namespace reveza::interpose

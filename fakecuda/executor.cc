#include "fakecuda/executor.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "fakecuda/memory.h"

namespace fakecuda {
namespace {

constexpr std::chrono::microseconds kPollInterval(300);
// Kernels of several streams run concurrently, even if one waits for another.
constexpr int kComputeThreads = 4;

// Returns whether stream ordering allows the head of the stream to start.
bool HeadIsRunnable(const Context& context, const Stream& stream) {
  if (stream.running || stream.queue.empty()) return false;
  if (!stream.blocking()) return true;
  const std::uint64_t own = stream.queue.front().sequence;
  if (!stream.legacy) {
    // Earlier work of the legacy stream runs first ...
    const Stream& legacy = *context.legacy;
    return legacy.queue.empty() || legacy.queue.front().sequence > own;
  }
  // ... and the legacy stream waits for all earlier work.
  return std::ranges::all_of(context.streams, [&](const std::shared_ptr<Stream>& other) {
    return other.get() == &stream || !other->blocking() || other->queue.empty() ||
           other->queue.front().sequence > own;
  });
}

class Worker {
 public:
  explicit Worker(Engine engine) : engine_(engine), state_(State::Get()) {}

  void Loop() {
    StateLock lock(state_.mutex);
    while (true) {
      std::shared_ptr<Stream> stream = Pick();
      if (stream == nullptr) {
        if (polled_) {
          state_.work_changed.wait_for(lock, kPollInterval);
        } else {
          state_.work_changed.wait(lock);
        }
        continue;
      }
      Run(lock, *stream);
      if (stream->queue.empty() && !stream->running && stream->handle == nullptr &&
          !stream->legacy) {
        stream->context->streams.erase(stream);  // was destroyed with pending work
      }
      state_.work_changed.notify_all();
      state_.done_changed.notify_all();
    }
  }

 private:
  std::shared_ptr<Stream> Pick() {
    polled_ = false;
    ready_.clear();
    for (const auto& [number, context] : state_.contexts.all()) {
      for (const std::shared_ptr<Stream>& stream : context->streams) {
        if (!HeadIsRunnable(*context, *stream)) continue;
        const Work& work = stream->queue.front();
        if (work.engine != engine_ && work.engine != Engine::kInstant) continue;
        const bool dropped = context->failed != CUDA_SUCCESS && !work.runs_after_failure;
        if (!dropped && work.ready && !work.ready()) {
          polled_ = polled_ || work.polled;
          continue;
        }
        ready_.push_back(stream);
      }
    }
    if (ready_.empty()) return nullptr;
    return ready_[std::uniform_int_distribution<std::size_t>(0, ready_.size() - 1)(state_.random)];
  }

  void Run(StateLock& lock, Stream& stream) {
    // Stays at the head until done, so that stream ordering takes it into account.
    stream.running = true;
    Work& work = stream.queue.front();
    Context& context = *stream.context;
    CUresult result = CUDA_SUCCESS;
    if (work.run && (context.failed == CUDA_SUCCESS || work.runs_after_failure)) {
      Execution execution(&context, context.device, state_.next_id++);
      if (work.engine == Engine::kInstant) {
        result = work.run(execution);
      } else {
        state_.executions.insert(&execution);
        const WorkFunction run = std::move(work.run);
        lock.unlock();
        result = run(execution);
        lock.lock();
        state_.executions.erase(&execution);
        if (execution.aborted()) result = CUDA_ERROR_ILLEGAL_ADDRESS;
      }
    }
    if (result != CUDA_SUCCESS) Fail(context, result);
    stream.queue.pop_front();
    stream.running = false;
  }

  const Engine engine_;
  State& state_;
  bool polled_ = false;
  std::vector<std::shared_ptr<Stream>> ready_;
};

void StartWorkers(State& state) {
  if (state.workers_started) return;
  state.workers_started = true;
  // Leave signals to the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto start = [](Engine engine) {
    std::thread([engine] { Worker(engine).Loop(); }).detach();
  };
  for (int i = 0; i < kComputeThreads; ++i) start(Engine::kCompute);
  start(Engine::kToDevice);
  start(Engine::kFromDevice);
  start(Engine::kHost);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Waits for all work submitted so far to the streams that satisfy `condition`.
template <typename Condition>
void WaitForStreams(StateLock& lock, Condition condition) {
  State& state = State::Get();
  const std::uint64_t sequence = state.next_sequence - 1;
  WaitUntil(lock, [&] {
    return std::ranges::all_of(state.contexts.all(), [&](const auto& entry) {
      return std::ranges::all_of(entry.second->streams, [&](const auto& stream) {
        return !condition(*stream) || stream->queue.empty() ||
               stream->queue.front().sequence > sequence;
      });
    });
  });
}

}  // namespace

char* Execution::Range(CUdeviceptr start, std::uint64_t bytes, bool write) {
  StateLock lock(State::Get().mutex);
  return Find(lock, device_, start, bytes, write);
}

char* Execution::RangeOfOwner(CUdeviceptr start, std::uint64_t bytes, bool write) {
  State& state = State::Get();
  StateLock lock(state.mutex);
  const Mapping* mapping = state.addresses.FindMapping(start);
  if (mapping == nullptr || mapping->physical == nullptr) return nullptr;
  return Find(lock, mapping->physical->info.device, start, bytes, write);
}

// What lies in memory of the host passes over the link, in the direction of the access.
char* Execution::Find(StateLock& lock, int device, CUdeviceptr start, std::uint64_t bytes,
                      bool write) {
  if (aborted()) return nullptr;
  State& state = State::Get();
  char* memory = state.addresses.Translate(device, start, bytes, write);
  if (memory == nullptr) return nullptr;
  uses_.push_back({start, bytes});
  TouchManaged(state, device_, start, bytes);
  const std::uint64_t on_host = state.addresses.BytesOnHost(start, bytes);
  if (on_host == 0) return memory;
  lock.unlock();
  const Direction direction = write ? Direction::kFromDevice : Direction::kToDevice;
  state.card->UseLink(device_, direction, on_host);
  lock.lock();
  return aborted() ? nullptr : memory;
}

bool Execution::Uses(CUdeviceptr start, std::uint64_t bytes) const {
  return std::ranges::any_of(uses_, [&](const Use& use) {
    return use.start < start + bytes && start < use.start + use.bytes;
  });
}

CUresult Submit(StateLock& lock, Stream& stream, Work work) {
  State& state = State::Get();
  StartWorkers(state);
  state.done_changed.wait(lock, [&] { return stream.queue.size() < kMaxQueueLength; });
  RETURN_IF_ERROR(stream.context->failed);
  work.sequence = state.next_sequence++;
  stream.queue.push_back(std::move(work));
  state.work_changed.notify_all();
  return CUDA_SUCCESS;
}

CUresult WaitForStream(StateLock& lock, Stream& stream) {
  Context& context = *stream.context;
  WaitForStreams(lock, [&](const Stream& other) {
    // The legacy stream also waits for all blocking streams.
    return &other == &stream || (stream.legacy && other.context == &context && other.blocking());
  });
  return context.failed;
}

CUresult WaitForContext(StateLock& lock, Context& context) {
  WaitForStreams(lock, [&](const Stream& stream) { return stream.context == &context; });
  return context.failed;
}

void WaitForDevice(StateLock& lock, int device) {
  WaitForStreams(lock, [&](const Stream& stream) { return stream.context->device == device; });
}

bool Idle(const Stream& stream) {
  if (!stream.queue.empty()) return false;
  return !stream.legacy ||
         std::ranges::all_of(stream.context->streams, [](const std::shared_ptr<Stream>& other) {
           return !other->blocking() || other->queue.empty();
         });
}

void WaitUntil(StateLock& lock, const std::function<bool()>& condition) {
  State& state = State::Get();
  while (!condition()) state.done_changed.wait_for(lock, std::chrono::milliseconds(2));
}

void Fail(Context& context, CUresult result) {
  if (context.failed != CUDA_SUCCESS) return;
  context.failed = result;
  const State& state = State::Get();
  if (state.options.verbose) {
    std::fprintf(stderr, "fakecuda: context failed with error %d (FAKECUDA_SEED=%llu)\n",
                 static_cast<int>(result), static_cast<unsigned long long>(state.options.seed));
  }
}

void RevokeRange(StateLock& lock, CUdeviceptr start, std::uint64_t bytes) {
  State& state = State::Get();
  const auto used = [&] {
    bool any = false;
    for (Execution* execution : state.executions) {
      if (!execution->Uses(start, bytes)) continue;
      execution->Abort();
      any = true;
    }
    return any;
  };
  WaitUntil(lock, [&] { return !used(); });
}

}  // namespace fakecuda

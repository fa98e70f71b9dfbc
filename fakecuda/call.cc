#include "call.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "entries.h"
#include "options.h"
#include "state.h"

namespace fakecuda {
namespace {

enum class Life { kNew, kInitialised, kForked, kEnded };

struct Calls {
  std::atomic<Life> life = Life::kNew;
  std::array<std::atomic<unsigned long long>, kMostCounters> counts = {};
  std::array<std::atomic<bool>, kMostCounters> named = {};
  std::atomic<unsigned long long> all = 0;

  static Calls& Get() {
    static Calls* calls = new Calls;  // used by threads that outlive main
    return *calls;
  }
};

bool WorksBeforeInitialisation(const Entry& entry) {
  for (const char* name : {"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
                           "cuGetProcAddress", "cuGetExportTable"}) {
    if (std::strcmp(entry.base, name) == 0) return true;
  }
  return false;
}

// The result that FAKECUDA_FAIL has for this call of this entry.
CUresult Injected(const Calls& calls, const Entry& entry, int index, unsigned long long total) {
  for (const Failure& failure : State::Get().options.failures) {
    unsigned long long number = 0;
    if (failure.name == "any") {
      number = total;
    } else if (failure.name == entry.name) {
      number = calls.counts[static_cast<std::size_t>(index)];
    } else if (failure.name == entry.base) {
      for (int i = 0; i < kEntryCount; ++i) {
        if (failure.name == kEntries[i].base) number += calls.counts[static_cast<std::size_t>(i)];
      }
    } else {
      continue;
    }
    if (number == failure.call) return static_cast<CUresult>(failure.result);
  }
  return CUDA_SUCCESS;
}

void AfterForkInChild() {
  Calls& calls = Calls::Get();
  if (calls.life != Life::kNew) calls.life = Life::kForked;
}

__attribute__((destructor)) void AtExit() {
  Calls& calls = Calls::Get();
  if (calls.life.exchange(Life::kEnded) != Life::kInitialised) return;
  // The threads of the executor may still use the objects; only the card must know.
  State& state = State::Get();
  StateLock lock(state.mutex, std::try_to_lock);
  if (lock.owns_lock()) state.card->Leave();
}

}  // namespace

Call::Call(int index, bool per_thread) : before_(ThreadState::Get().per_thread_default) {
  const Entry& entry = kEntries[index];
  Calls& calls = Calls::Get();
  ThreadState::Get().per_thread_default = per_thread;
  calls.counts[static_cast<std::size_t>(index)].fetch_add(1, std::memory_order_relaxed);
  const Life life = calls.life;
  const bool early = WorksBeforeInitialisation(entry);
  if (life != Life::kInitialised && !(early && life != Life::kForked)) {
    if (early && std::strcmp(entry.base, "cuInit") != 0) return;
    result_ = life == Life::kEnded ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  if (ThreadState::Get().in_callback && !early && std::strncmp(entry.base, "cuCtxGet", 8) != 0) {
    result_ = CUDA_ERROR_NOT_PERMITTED;
    return;
  }
  if (life == Life::kInitialised) State::Get().card->CountCall(index);
  const bool counted = !early || std::strcmp(entry.base, "cuInit") == 0;
  if (!counted) return;
  const unsigned long long total = calls.all.fetch_add(1) + 1;
  result_ = Injected(calls, entry, index, total);
}

Call::~Call() { ThreadState::Get().per_thread_default = before_; }

CUresult Call::NotSupported(int index) {
  Calls& calls = Calls::Get();
  calls.counts[static_cast<std::size_t>(index)].fetch_add(1, std::memory_order_relaxed);
  if (!calls.named[static_cast<std::size_t>(index)].exchange(true)) {
    std::fprintf(stderr, "fakecuda: %s is not supported\n", kEntries[index].name);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

unsigned long long CallsOf(const char* name) {
  unsigned long long sum = 0;
  for (int i = 0; i < kEntryCount; ++i) {
    if (std::strcmp(name, kEntries[i].name) == 0 || std::strcmp(name, kEntries[i].base) == 0) {
      sum += Calls::Get().counts[static_cast<std::size_t>(i)];
    }
  }
  return sum;
}

void ResetCalls() {
  for (auto& count : Calls::Get().counts) count = 0;
  Calls::Get().all = 0;
}

void MarkInitialised() {
  Calls& calls = Calls::Get();
  if (calls.life.exchange(Life::kInitialised) == Life::kNew) {
    pthread_atfork(nullptr, nullptr, AfterForkInChild);
  }
}

}  // namespace fakecuda

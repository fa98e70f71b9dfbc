#include "fakecuda/call.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "fakecuda/checkpoint.h"
#include "fakecuda/counters.h"
#include "fakecuda/entries.h"
#include "fakecuda/options.h"
#include "fakecuda/state.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

enum class DriverState { kNew, kInitialised, kForked, kDeinitialised };

struct Calls {
  std::atomic<DriverState> driver_state = DriverState::kNew;
  std::array<std::atomic<unsigned long long>, kMaxCounters> counts = {};
  std::array<std::atomic<bool>, kMaxCounters> reported = {};
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

// Returns the result that FAKECUDA_FAIL injects into this call, or CUDA_SUCCESS.
CUresult InjectedResult(const Calls& calls, const Entry& entry, int index,
                        unsigned long long total) {
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
  if (calls.driver_state != DriverState::kNew) calls.driver_state = DriverState::kForked;
}

__attribute__((destructor)) void AtExit() {
  Calls& calls = Calls::Get();
  if (calls.driver_state.exchange(DriverState::kDeinitialised) != DriverState::kInitialised) return;
  // Executor threads may still use the objects, so only the shared state is updated.
  State& state = State::Get();
  StateLock lock(state.mutex, std::try_to_lock);
  if (lock.owns_lock()) state.card->Unregister();
}

}  // namespace

Call::Call(int index, bool per_thread)
    : entry_(index), previous_per_thread_(ThreadState::Get().per_thread_default) {
  const Entry& entry = kEntries[index];
  Calls& calls = Calls::Get();
  ThreadState::Get().per_thread_default = per_thread;
  calls.counts[static_cast<std::size_t>(index)].fetch_add(1, std::memory_order_relaxed);
  const DriverState driver_state = calls.driver_state;
  const bool early = WorksBeforeInitialisation(entry);
  if (driver_state != DriverState::kInitialised &&
      !(early && driver_state != DriverState::kForked)) {
    if (early && std::strcmp(entry.base, "cuInit") != 0) return;
    result_ = driver_state == DriverState::kDeinitialised ? CUDA_ERROR_DEINITIALIZED
                                                          : CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  if (ThreadState::Get().in_callback && !early && std::strncmp(entry.base, "cuCtxGet", 8) != 0) {
    result_ = CUDA_ERROR_NOT_PERMITTED;
    return;
  }
  if (driver_state == DriverState::kInitialised) {
    result_ = Checkpoint::Get().Enter(index);
    if (result_ != CUDA_SUCCESS) return;
    inside_ = true;
    State::Get().card->CountCall(index);
  }
  const bool counted = !early || std::strcmp(entry.base, "cuInit") == 0;
  if (!counted) return;
  const unsigned long long total = calls.all.fetch_add(1) + 1;
  result_ = InjectedResult(calls, entry, index, total);
}

Call::~Call() {
  if (inside_) Checkpoint::Get().Leave(entry_);
  ThreadState::Get().per_thread_default = previous_per_thread_;
}

CUresult Call::NotSupported(int index) {
  Calls& calls = Calls::Get();
  calls.counts[static_cast<std::size_t>(index)].fetch_add(1, std::memory_order_relaxed);
  if (!calls.reported[static_cast<std::size_t>(index)].exchange(true)) {
    std::fprintf(stderr, "fakecuda: %s is not supported\n", kEntries[index].name);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

void MarkInitialised() {
  Calls& calls = Calls::Get();
  if (calls.driver_state.exchange(DriverState::kInitialised) == DriverState::kNew) {
    pthread_atfork(nullptr, nullptr, AfterForkInChild);
  }
}

namespace {

// Returns the number of calls of an entry in this process; 0 for unknown names.
unsigned long long CallsOf(const char* name) {
  unsigned long long sum = 0;
  for (int i = 0; i < kEntryCount; ++i) {
    if (std::strcmp(name, kEntries[i].name) == 0 || std::strcmp(name, kEntries[i].base) == 0) {
      sum += Calls::Get().counts[static_cast<std::size_t>(i)];
    }
  }
  return sum;
}

unsigned long long Sum(const std::uint64_t (&values)[kMaxDevices]) {
  unsigned long long sum = 0;
  for (const std::uint64_t value : values) sum += value;
  return sum;
}

unsigned long long OfAll(std::string_view name) {
  const std::unique_ptr<CardState> card = State::Get().card->Snapshot();
  if (name == "bytes_to_device") return card->to_device;
  if (name == "bytes_from_device") return card->from_device;
  if (name == "bytes_on_device") return card->on_device;
  if (name == "resident") return Sum(card->used);
  if (name == "peak") return Sum(card->peak);
  unsigned long long processes = 0, calls = 0;
  for (const ProcessSlot& process : card->processes) processes += process.pid != 0 ? 1 : 0;
  if (name == "processes") return processes;
  for (int i = 0; i < kEntryCount; ++i) {
    if (name == "calls" || name == kEntries[i].name || name == kEntries[i].base) {
      calls += card->counters[i];
    }
  }
  return calls;
}

unsigned long long OfThisProcess(std::string_view name) {
  State& state = State::Get();
  if (name == "mappings") {
    const StateLock lock(state.mutex);
    return state.addresses.mapping_count();
  }
  const ProcessSlot self = state.card->Self();
  if (name == "bytes_to_device") return self.to_device;
  if (name == "bytes_from_device") return self.from_device;
  if (name == "resident") {
    return Sum(self.allocated) + Sum(self.managed) + Sum(self.context_bytes);
  }
  if (name == "managed") return Sum(self.managed);
  if (name == "faults") return self.faults;
  if (name == "peak") return Sum(self.peak);
  if (name == "on_host") return self.on_host;
  if (name == "calls") return self.calls;
  return CallsOf(name.data());
}

bool HasCard() {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  return state.card != nullptr;
}

const char* ResultText(CUresult result) {
  for (const ResultName* at = kResultNames; at->name != nullptr; ++at) {
    if (at->result == static_cast<int>(result)) return at->name;
  }
  return nullptr;
}

// Returns the newest entry of that name for the requested version. Sets `*known` if there is one of
// any version.
const Entry* FindEntry(const char* name, int version, bool per_thread, bool* known) {
  const Entry* best = nullptr;
  const Entry* best_twin = nullptr;
  for (int i = 0; i < kEntryCount; ++i) {
    const Entry& entry = kEntries[i];
    if (std::strcmp(entry.base, name) != 0) continue;
    if (entry.version > State::Get().options.driver_version) continue;
    *known = true;
    if (entry.version > version) continue;
    const Entry*& found = entry.per_thread ? best_twin : best;
    if (found == nullptr || entry.version >= found->version) found = &entry;
  }
  return per_thread && best_twin != nullptr ? best_twin : best;
}

}  // namespace

namespace calls {

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || *name == '\0' || function == nullptr ||
      flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool known = false;
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const Entry* entry = FindEntry(name, version, per_thread, &known);
  *function = entry == nullptr ? nullptr : entry->function;
  if (status != nullptr) {
    *status = entry != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return entry != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetErrorName(CUresult result, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = ResultText(result);
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda

extern "C" __attribute__((visibility("default"))) unsigned long long fakecudaCounter(
    const char* name) {
  if (name == nullptr || !fakecuda::HasCard()) return 0;
  if (std::strncmp(name, "all.", 4) == 0) return fakecuda::OfAll(name + 4);
  return fakecuda::OfThisProcess(name);
}

extern "C" __attribute__((visibility("default"))) void fakecudaReset() {
  fakecuda::Calls& calls = fakecuda::Calls::Get();
  for (auto& count : calls.counts) count = 0;
  calls.all = 0;
  if (fakecuda::HasCard()) fakecuda::State::Get().card->ResetCounters();
}

#include "counters.h"

#include <cstring>
#include <string_view>

#include "call.h"
#include "entries.h"
#include "state.h"

namespace fakecuda {
namespace {

unsigned long long Sum(const std::uint64_t (&values)[kMostDevices]) {
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
  if (name == "resident") return Sum(self.allocated) + Sum(self.context_bytes);
  if (name == "peak") return Sum(self.peak);
  if (name == "calls") return self.calls;
  return CallsOf(name.data());
}

bool HasCard() {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  return state.card != nullptr;
}

}  // namespace
}  // namespace fakecuda

extern "C" __attribute__((visibility("default"))) unsigned long long fakecudaCounter(
    const char* name) {
  if (name == nullptr || !fakecuda::HasCard()) return 0;
  if (std::strncmp(name, "all.", 4) == 0) return fakecuda::OfAll(name + 4);
  return fakecuda::OfThisProcess(name);
}

extern "C" __attribute__((visibility("default"))) void fakecudaReset() {
  fakecuda::ResetCalls();
  if (fakecuda::HasCard()) fakecuda::State::Get().card->ResetCounters();
}

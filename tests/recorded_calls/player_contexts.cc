// Contexts, streams and waiting.
#include <cstring>

#include "tests/recorded_calls/driver.h"
#include "tests/recorded_calls/player.h"

namespace reveza::recorded_calls {
namespace {

void CUDA_CB DoNothing(void*) {}
void CUDA_CB DoNothingAfter(CUstream, CUresult, void*) {}

// Any image does: fakecuda has its kernels by name.
constexpr char kImage[] = "image";

}  // namespace

std::uint64_t Player::CurrentContext() {
  std::uint64_t context = 0;
  CallDriver("cuCtxGetCurrent", &context);
  return context;
}

// Loads the kernels of patterns while no stream captures in the new context.
void Player::PrepareContext(std::uint64_t context) {
  if (kernels_.contains(context)) return;
  CallDriver("cuCtxPushCurrent_v2", context);
  std::uint64_t module = 0;
  Kernels kernels;
  if (CallDriver("cuModuleLoadData", &module, kImage) == CUDA_SUCCESS) {
    CallDriver("cuModuleGetFunction", &kernels.fill, module, "reveza_fill");
    CallDriver("cuModuleGetFunction", &kernels.step, module, "reveza_step");
    CallDriver("cuModuleGetFunction", &kernels.spin, module, "reveza_spin");
  }
  kernels_[context] = kernels;
  std::uint64_t popped = 0;
  CallDriver("cuCtxPopCurrent_v2", &popped);
}

void Player::MakeContext() {
  PlayGeneric();
  std::uint64_t context = 0;
  if (!Map("CUcontext", Written(0), &context)) return;
  devices_.insert(Number(current_.values.size() - 1));
  PrepareContext(context);
}

void Player::RetainPrimary() {
  const std::uint64_t device = Number(1);
  PlayGeneric();
  std::uint64_t context = 0;
  if (!Map("CUcontext", Written(0), &context)) return;
  devices_.insert(device);
  primaries_[device] = context;
  ++references_[device];
  PrepareContext(context);
}

// The runtime sets a primary context current while it is still being retained.
void Player::SetCurrentContext() {
  std::uint64_t context = 0;
  if (Map("CUcontext", Number(0), &context)) {
    awaited_contexts_.erase(current_.record->thread);
    Do({context});
  } else {
    awaited_contexts_[current_.record->thread] = Number(0);
  }
}

void Player::SetAwaitedContext() {
  const auto awaited = awaited_contexts_.find(current_.record->thread);
  std::uint64_t context = 0;
  if (awaited == awaited_contexts_.end() || !Map("CUcontext", awaited->second, &context)) return;
  CallDriver("cuCtxSetCurrent", context);
  awaited_contexts_.erase(awaited);
}

void Player::EndContext() {
  std::uint64_t context = 0;
  if (!Map("CUcontext", Number(0), &context)) return Skip("of a handle that was not made here");
  BeforeContextEnds(context);
  if (Do({context})) AfterContextEnded(context);
}

void Player::EndPrimary() {
  const std::uint64_t device = Number(0);
  const auto primary = primaries_.find(device);
  if (primary == primaries_.end()) return Skip("of a context that was not made here");
  const bool reset = current_.base == "cuDevicePrimaryCtxReset";
  const bool ends = reset || references_[device] == 1;
  if (ends) BeforeContextEnds(primary->second);
  if (!Do({device})) return;
  if (!reset) --references_[device];
  if (ends) AfterContextEnded(primary->second);
}

void Player::BeforeContextEnds(std::uint64_t context) {
  CheckReads(true);
  for (const auto& region : memory_.All()) {
    if (region->context == context) CheckRegion(*region);
  }
  // Events of the context end with it.
  for (const auto& region : memory_.All()) {
    Storage& storage = *region->storage;
    for (auto* mark : {&storage.last, &storage.last_captured}) {
      if (*mark == nullptr || (*mark)->stream.context != context) continue;
      CallDriver("cuEventSynchronize", (*mark)->event);
      mark->reset();
    }
  }
}

void Player::AfterContextEnded(std::uint64_t context) {
  kernels_.erase(context);
  for (const auto& region : memory_.All()) {
    if (region->context == context && region->place != Place::kMapped) memory_.Remove(region);
  }
}

void Player::CreateStream() {
  PlayGeneric();
  std::uint64_t stream = 0;
  if (Map("CUstream", Written(0), &stream)) stream_contexts_[stream] = CurrentContext();
}

void Player::LoadModule() {
  std::uint64_t module = 0;
  if (DoEntry("cuModuleLoadData", {reinterpret_cast<std::uint64_t>(&module),
                                   reinterpret_cast<std::uint64_t>(kImage)})) {
    Bind("CUmodule", Written(0), module);
  }
}

// The program knew that the work was complete; here it may not be.
void Player::WaitForQuery() {
  const bool event = current_.base == "cuEventQuery";
  std::uint64_t handle = 0;
  if (!Map(event ? "CUevent" : "CUstream", Number(0), &handle)) {
    return Skip("of a handle that was not made here");
  }
  const std::string wait = event ? "cuEventSynchronize" : "cuStreamSynchronize" + current_.suffix;
  if (DoEntry(wait, {handle})) CheckReads(false);
}

void Player::ElapsedTime() {
  std::uint64_t events[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!Map("CUevent", Number(i + 1), &events[i])) {
      return Skip("of a handle that was not made here");
    }
    CallDriver("cuEventSynchronize", events[i]);
  }
  PlayGeneric();
}

void Player::WaitAndCheck() {
  PlayGeneric();
  CheckReads(false);
}

void Player::HostFunction() {
  std::uint64_t stream = 0;
  if (!Map("CUstream", Number(0), &stream)) return Skip("of a handle that was not made here");
  std::vector<std::uint64_t> words{stream, reinterpret_cast<std::uint64_t>(&DoNothing), 0};
  if (current_.values.size() > words.size()) words.push_back(Number(3));
  Do(words);
}

void Player::StreamCallback() {
  std::uint64_t stream = 0;
  if (!Map("CUstream", Number(0), &stream)) return Skip("of a handle that was not made here");
  Do({stream, reinterpret_cast<std::uint64_t>(&DoNothingAfter), 0, Number(3)});
}

}  // namespace reveza::recorded_calls

// Contexts and what ends with them.
#include <algorithm>
#include <atomic>

#include "tests/random_programs/world.h"

// The kernels, compiled for real cards.
extern "C" const unsigned char reveza_test_kernels_image[];

namespace reveza::random_programs {

bool World::Exists(int context) const { return contexts_[context].handle != nullptr; }

void World::Enter(int context) {
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  if (current != contexts_[context].handle) {
    Must(driver_.cuCtxSetCurrent(contexts_[context].handle), "enter");
  }
}

void World::Prepare(int context) {
  Context& made = contexts_[context];
  CUmodule module = nullptr;
  Enter(context);
  if (Must(driver_.cuModuleLoadData(&module, reveza_test_kernels_image), "load")) {
    const auto get = [&](CUfunction* function, const char* name) {
      Must(driver_.cuModuleGetFunction(function, module, name), name);
    };
    get(&made.fill, "reveza_fill");
    get(&made.add, "reveza_add");
    get(&made.step, "reveza_step");
    get(&made.copy, "reveza_copy");
    get(&made.spin, "reveza_spin");
  }
  void* flags = nullptr;
  if (Must(driver_.cuMemHostAlloc(&flags, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "flags")) {
    made.flags = static_cast<unsigned*>(flags);
    for (int i = 0; i < kStreams; ++i) made.flags[i] = 0;
  }
}

void World::Retain(int device) {
  Context& primary = contexts_[device];
  CUcontext handle = nullptr;
  const CUresult result = driver_.cuDevicePrimaryCtxRetain(&handle, device);
  Note(result);
  if (result != CUDA_SUCCESS) return;
  ++primary.references;
  if (primary.handle != nullptr) return;
  primary.handle = handle;
  primary.device = device;
  Prepare(device);
}

void World::ReleasePrimary(int device, bool reset) {
  Context& primary = contexts_[device];
  if (primary.references == 0 || (concurrent_ && (reset || primary.references == 1))) return;
  // A capture that is in progress when its context ends is undefined behaviour.
  const bool ends = reset || primary.references == 1;
  if (ends && AnyCapture()) return;
  if (ends) BeforeContextEnds(device);
  Note(reset ? driver_.cuDevicePrimaryCtxReset(device) : driver_.cuDevicePrimaryCtxRelease(device));
  primary.references = reset ? 0 : primary.references - 1;
  if (ends) AfterContextEnded(device);
}

void World::CreateContext(int context, int device) {
  if (IsPrimary(context) || Exists(context)) return;
  CUcontext handle = nullptr;
  const CUresult result = driver_.cuCtxCreate(&handle, nullptr, 0, device);
  Note(result);
  if (result != CUDA_SUCCESS) return;
  contexts_[context].handle = handle;
  contexts_[context].device = device;
  Prepare(context);
}

void World::DestroyContext(int context) {
  if (IsPrimary(context) || !Exists(context) || AnyCapture()) return;
  BeforeContextEnds(context);
  Note(driver_.cuCtxDestroy(contexts_[context].handle));
  AfterContextEnded(context);
}

void World::UseContext(int context) {
  if (Exists(context)) Note(driver_.cuCtxSetCurrent(contexts_[context].handle));
}

// Frees what outlives the context, or whose end would be undefined.
void World::BeforeContextEnds(int context) {
  ReleaseHolds();
  for (int graph = 0; graph < kGraphs; ++graph) {
    if (graphs_[graph].context == context) DestroyGraph(graph);
  }
  for (int buffer = 0; buffer < kBuffers; ++buffer) {
    const auto& storage = buffers_[buffer].storage;
    if (storage == nullptr) continue;
    // The end of a context waits only for its own work.
    if (storage->context == context) WaitFor(storage);
    if (storage->type == Type::kPool && storage->context == context) Free(buffer);
  }
}

void World::AfterContextEnded(int context) {
  for (const auto& mark : marks_) {
    if (mark->context == context) mark->event = nullptr;
  }
  std::erase_if(marks_, [](const auto& mark) { return mark->event == nullptr; });
  for (Stream& stream : streams_) {
    if (stream.exists && stream.context == context) stream = {};
  }
  for (Event& event : events_) {
    if (event.handle != nullptr && event.context == context) event = {};
  }
  for (Buffer& buffer : buffers_) {
    if (buffer.storage != nullptr && buffer.storage->context == context &&
        buffer.storage->type != Type::kHandle) {
      buffer = {};
    }
  }
  contexts_[context] = {};
  for (Context& other : contexts_) other.peers.erase(context);
}

void World::ChangePeer(int context, int peer, bool enable) {
  if (!Exists(context) || !Exists(peer) || concurrent_ || AnyCapture()) return;
  if (contexts_[context].device == contexts_[peer].device) return;
  ReleaseHolds();
  // Work that relies on the access ends first.
  for (const Buffer& buffer : buffers_) {
    if (buffer.storage != nullptr) WaitFor(buffer.storage);
  }
  Enter(context);
  const CUresult result = enable ? driver_.cuCtxEnablePeerAccess(contexts_[peer].handle, 0)
                                 : driver_.cuCtxDisablePeerAccess(contexts_[peer].handle);
  Note(result);
  if (result != CUDA_SUCCESS) return;
  if (enable) {
    contexts_[context].peers.insert(peer);
  } else {
    contexts_[context].peers.erase(peer);
  }
}

// The total, and whether free memory is what it was when the program began, if it has none.
void World::MemoryInfo(int context) {
  if (!Exists(context) || AnyCapture() || concurrent_) return;
  std::size_t free = 0, total = 0;
  Enter(context);
  Note(driver_.cuMemGetInfo(&free, &total));
  NoteValue(free <= total ? 1 : 0);
  for (const Buffer& buffer : buffers_) {
    if (buffer.storage != nullptr) return;
  }
  for (int other = devices_; other < kContexts; ++other) {
    if (Exists(other)) return;
  }
  std::size_t& baseline = baseline_[context];
  if (baseline == 0) baseline = free;
  NoteValue(static_cast<long long>(free) - static_cast<long long>(baseline));
}

}  // namespace reveza::random_programs

// Streams, events, and the order of work on the same memory.
#include <algorithm>
#include <atomic>

#include "tests/random_programs/world.h"

namespace reveza::random_programs {
namespace {

enum StreamKind { kBlocking, kNonBlocking, kDefault, kPerThread };

}  // namespace

bool World::AnyCapture() const { return std::ranges::any_of(captures_, &Capture::active); }

// Returns the stream if this thread may use it.
World::Stream* World::Usable(int stream) {
  Stream& found = streams_[stream];
  if (!found.exists) return nullptr;
  const bool own = found.kind == kPerThread || (found.kind == kDefault && per_thread_);
  return own && found.thread != thread_ ? nullptr : &found;
}

void World::CreateStream(int stream, int context, int kind) {
  Stream& made = streams_[stream];
  if (made.exists || !Exists(context)) return;
  Enter(context);
  CUstream handle = kind == kPerThread ? CU_STREAM_PER_THREAD : nullptr;
  if (kind == kBlocking || kind == kNonBlocking) {
    const CUresult result = driver_.cuStreamCreate(
        &handle, kind == kBlocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
    Note(result);
    if (result != CUDA_SUCCESS) return;
  }
  // The same stream in two slots would be captured twice.
  if (handle == nullptr || handle == CU_STREAM_PER_THREAD) {
    for (const Stream& other : streams_) {
      if (other.exists && other.context == context && other.kind >= kDefault) return;
    }
  }
  made.exists = true;
  made.handle = handle;
  made.context = context;
  made.kind = kind;
  made.thread = thread_;
  made.mark = NewMark(stream);
  Must(driver_.cuEventCreate(&made.fork, CU_EVENT_DISABLE_TIMING), "fork");
}

std::shared_ptr<World::Mark> World::NewMark(int stream) {
  auto mark = std::make_shared<Mark>();
  mark->context = streams_[stream].context;
  mark->stream = stream;
  Must(driver_.cuEventCreate(&mark->event, CU_EVENT_DISABLE_TIMING), "mark");
  marks_.push_back(mark);
  return mark;
}

void World::DestroyStream(int stream) {
  Stream* gone = Usable(stream);
  if (gone == nullptr || (gone->capture >= 0 && gone->capture != stream)) return;
  ReleaseHolds();
  Enter(gone->context);
  if (gone->capture < 0) Must(driver_.cuEventRecord(gone->mark->event, gone->handle), "record");
  gone->mark->stream = -1;
  if (gone->kind == kBlocking || gone->kind == kNonBlocking) {
    Note(driver_.cuStreamDestroy(gone->handle));
  } else if (gone->capture >= 0) {
    EndCapture(stream, 0);
  }
  Must(driver_.cuEventDestroy(gone->fork), "destroy");
  for (Stream& member : streams_) {
    if (member.capture == stream) member.capture = -1;
  }
  captures_[stream] = {};
  *gone = {};
}

bool World::Order(const std::shared_ptr<Storage>& storage, int stream) {
  Stream& user = streams_[stream];
  if (user.capture >= 0) {
    // Branches of a graph run in any order: only one may use the memory.
    auto& storages = captures_[user.capture].storages;
    const bool first = std::ranges::find(storages, storage) == storages.end();
    if (!first && storage->branch != stream) return false;
    if (first) storages.push_back(storage);
    storage->branch = stream;
    return true;
  }
  const std::shared_ptr<Mark> last = storage->last;
  if (last != nullptr && last != user.mark && last->event != nullptr) {
    if (last->stream >= 0 && streams_[last->stream].capture < 0) {
      if (Usable(last->stream) == nullptr) return false;
      Enter(last->context);
      if (!Must(driver_.cuEventRecord(last->event, streams_[last->stream].handle), "record")) {
        return false;
      }
    }
    Enter(user.context);
    if (!Must(driver_.cuStreamWaitEvent(user.handle, last->event, 0), "wait")) return false;
  }
  storage->last = user.mark;
  return true;
}

// Waits on the host for the last work on the memory.
void World::WaitFor(const std::shared_ptr<Storage>& storage) {
  const std::shared_ptr<Mark> last = storage->last;
  if (last == nullptr || last->event == nullptr) return;
  ReleaseHolds();
  if (last->stream >= 0 && streams_[last->stream].capture < 0) {
    if (Usable(last->stream) == nullptr) {
      // Another thread's own stream: its context ends all work.
      Enter(last->context);
      Must(driver_.cuCtxSynchronize(), "sync");
      return;
    }
    Enter(last->context);
    Must(driver_.cuEventRecord(last->event, streams_[last->stream].handle), "record");
  }
  Must(driver_.cuEventSynchronize(last->event), "sync");
}

void World::Hold(int stream) {
  Stream* held = Usable(stream);
  if (held == nullptr || held->capture >= 0 || contexts_[held->context].flags == nullptr) return;
  unsigned* flag = &contexts_[held->context].flags[stream];
  held->held = next_held_++;
  Enter(held->context);
  Note(driver_.cuStreamWaitValue32(held->handle, reinterpret_cast<CUdeviceptr>(flag), held->held,
                                   CU_STREAM_WAIT_VALUE_GEQ));
}

void World::ReleaseHolds() {
  for (int stream = 0; stream < kStreams; ++stream) {
    Stream& held = streams_[stream];
    if (!held.exists || held.held == 0) continue;
    std::atomic_ref(contexts_[held.context].flags[stream]).store(held.held);
    held.held = 0;
  }
}

void World::CreateEvent(int event, int context) {
  if (events_[event].handle != nullptr || !Exists(context)) return;
  Enter(context);
  events_[event].context = context;
  Note(driver_.cuEventCreate(&events_[event].handle, CU_EVENT_DISABLE_TIMING));
}

void World::DestroyEvent(int event) {
  if (events_[event].handle == nullptr) return;
  Note(driver_.cuEventDestroy(events_[event].handle));
  events_[event] = {};
}

void World::RecordEvent(int event, int stream) {
  const Stream* recorded = Usable(stream);
  if (recorded == nullptr || events_[event].handle == nullptr || recorded->capture >= 0 ||
      recorded->context != events_[event].context) {
    return;
  }
  Enter(recorded->context);
  Note(driver_.cuEventRecord(events_[event].handle, recorded->handle));
}

void World::WaitEvent(int event, int stream) {
  const Stream* waiting = Usable(stream);
  if (waiting == nullptr || events_[event].handle == nullptr || waiting->capture >= 0) return;
  Enter(waiting->context);
  Note(driver_.cuStreamWaitEvent(waiting->handle, events_[event].handle, 0));
}

}  // namespace reveza::random_programs

// Captures and graphs.
#include <algorithm>

#include "tests/random_programs/world.h"

namespace reveza::random_programs {
namespace {

constexpr int kNonBlocking = 1;
constexpr int kDefault = 2;

}  // namespace

void World::BeginCapture(int stream, int mode) {
  Stream* origin = Usable(stream);
  if (origin == nullptr || origin->capture >= 0 || origin->held != 0) return;
  if (concurrent_ && (origin->kind != kNonBlocking || mode == CU_STREAM_CAPTURE_MODE_GLOBAL))
    return;
  if (origin->kind == kDefault && !per_thread_) return;
  Enter(origin->context);
  // Work before the capture is waited for by this record: the stream records no more meanwhile.
  Must(driver_.cuEventRecord(origin->mark->event, origin->handle), "record");
  const CUresult result =
      driver_.cuStreamBeginCapture(origin->handle, static_cast<CUstreamCaptureMode>(mode));
  Note(result);
  if (result != CUDA_SUCCESS) return;
  origin->capture = stream;
  captures_[stream] = {true, thread_, mode == CU_STREAM_CAPTURE_MODE_RELAXED, {}};
}

void World::ForkCapture(int stream, int other) {
  Stream* from = Usable(stream);
  Stream* member = Usable(other);
  if (from == nullptr || member == nullptr || from->capture < 0 || member->capture >= 0 ||
      member->held != 0 || member->context != from->context) {
    return;
  }
  if (member->kind == kDefault || (concurrent_ && member->kind != kNonBlocking)) return;
  Enter(from->context);
  Must(driver_.cuEventRecord(member->mark->event, member->handle), "record");
  const CUresult record = driver_.cuEventRecord(from->fork, from->handle);
  Note(record);
  if (record != CUDA_SUCCESS) return;
  const CUresult wait = driver_.cuStreamWaitEvent(member->handle, from->fork, 0);
  Note(wait);
  if (wait == CUDA_SUCCESS) member->capture = from->capture;
}

// Ends the capture of `stream`, or else the first one.
void World::EndCapture(int stream, int graph) {
  if (!captures_[stream].active) {
    const auto* first = std::ranges::find_if(captures_, &Capture::active);
    if (first == std::end(captures_)) return;
    stream = static_cast<int>(first - captures_);
  }
  const Stream* origin = Usable(stream);
  if (origin == nullptr) return;
  Enter(origin->context);
  for (int other = 0; other < kStreams; ++other) {
    const Stream& member = streams_[other];
    if (other == stream || member.capture != stream || Usable(other) == nullptr) continue;
    Note(driver_.cuEventRecord(member.fork, member.handle));
    Note(driver_.cuStreamWaitEvent(origin->handle, member.fork, 0));
  }
  CUgraph captured = nullptr;
  const CUresult result = driver_.cuStreamEndCapture(origin->handle, &captured);
  Note(result);
  if (result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) return;
  const std::vector<std::shared_ptr<Storage>> storages = std::move(captures_[stream].storages);
  const int context = origin->context;
  captures_[stream] = {};
  for (Stream& member : streams_) {
    if (member.capture == stream) member.capture = -1;
  }
  if (result != CUDA_SUCCESS) return;
  const auto exists = [this](const std::shared_ptr<Storage>& storage) {
    return std::ranges::find(buffers_, storage, &Buffer::storage) != std::end(buffers_);
  };
  if (!std::ranges::all_of(storages, exists)) {
    // The driver refuses to fill memory that was freed meanwhile, and crashes on copies of it.
    Must(driver_.cuGraphDestroy(captured), "destroy");
    return;
  }
  DestroyGraph(graph);
  CUgraphExec executable = nullptr;
  Note(driver_.cuGraphInstantiateWithFlags(&executable, captured, 0));
  Must(driver_.cuGraphDestroy(captured), "destroy");
  graphs_[graph] = {executable, context, {storages.begin(), storages.end()}};
}

// Launches the graph, or else the next one, on the stream, or else the next one of its context.
void World::LaunchGraph(int number, int stream) {
  for (int i = 0; i < kGraphs && graphs_[number].executable == nullptr; ++i) {
    number = (number + 1) % kGraphs;
  }
  const Graph& graph = graphs_[number];
  if (graph.executable == nullptr) return;
  const auto fits = [&](int one) {
    const Stream* found = Usable(one);
    return found != nullptr && found->context == graph.context && found->capture < 0;
  };
  for (int i = 0; i < kStreams && !fits(stream); ++i) stream = (stream + 1) % kStreams;
  if (!fits(stream)) return;
  std::vector<std::shared_ptr<Storage>> storages;
  for (const auto& one : graph.storages) {
    storages.push_back(one.lock());
    // The graph would use memory that was freed.
    if (storages.back() == nullptr) return;
  }
  for (const auto& storage : storages) {
    if (!Order(storage, stream)) return;
  }
  Enter(graph.context);
  Note(driver_.cuGraphLaunch(graph.executable, streams_[stream].handle));
}

void World::DestroyGraph(int graph) {
  if (graphs_[graph].executable == nullptr) return;
  Note(driver_.cuGraphExecDestroy(graphs_[graph].executable));
  graphs_[graph] = {};
}

}  // namespace reveza::random_programs

// Work on memory, in the order of the recording.
#include <algorithm>
#include <cstring>

#include "tests/recorded_calls/driver.h"
#include "tests/recorded_calls/player.h"

namespace reveza::recorded_calls {
namespace {

std::uint64_t AsWord(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// The addresses in the parameters of a kernel: whatever word looks like one.
std::vector<std::uint64_t> WordsOf(const std::string& bytes) {
  std::vector<std::uint64_t> words;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    words.push_back(word);
  }
  return words;
}

}  // namespace

Stream Player::StreamOf(std::uint64_t recorded) {
  Stream stream;
  Map("CUstream", recorded, &stream.handle);
  stream.context = CurrentContext();
  stream.per_thread = current_.suffix == "_ptsz" || current_.suffix == "_ptds";
  const bool own = recorded == 2 || (recorded == 0 && stream.per_thread);
  if (recorded > 2) {
    stream.key[0] = stream.handle;
    if (const auto made = stream_contexts_.find(stream.handle); made != stream_contexts_.end()) {
      stream.context = made->second;
    }
  } else {
    stream.key[1] = stream.context;
    stream.key[2] = own ? current_.record->thread + 1u : 0;
  }
  return stream;
}

std::uint64_t Player::CaptureOf(const Stream& stream) const {
  if (captures_.empty()) return 0;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  std::uint64_t number = 0;
  CallDriver(std::string("cuStreamGetCaptureInfo") + (stream.per_thread ? "_ptsz" : ""),
             stream.handle, &status, &number);
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? number : 0;
}

// Makes the stream wait for the last use of the memory by another one.
bool Player::Order(const Stream& stream, const std::vector<std::shared_ptr<Storage>>& storages) {
  const std::uint64_t capture = CaptureOf(stream);
  const std::string entry = std::string("cuStreamWaitEvent") + (stream.per_thread ? "_ptsz" : "");
  for (const auto& storage : storages) {
    if (storage->freed) {
      Skip("uses memory that was freed");
      return false;
    }
    const auto& mark = capture != 0 ? storage->last_captured : storage->last;
    if (mark == nullptr || mark->stream == stream || mark->capture != capture) continue;
    const CUresult result = CallDriver(entry, stream.handle, mark->event, 0u);
    if (result != CUDA_SUCCESS) {
      failures_ += "unordered: call " + std::to_string(current_.record->sequence) + ": " +
                   std::to_string(static_cast<int>(result)) + "\n";
    }
  }
  return true;
}

// Notes that the stream was the last to use the memory, and what that does to it.
void Player::After(const Stream& stream, const std::vector<std::shared_ptr<Storage>>& storages,
                   Effect effect) {
  const std::uint64_t capture = CaptureOf(stream);
  auto mark = std::make_shared<Mark>();
  mark->stream = stream;
  mark->capture = capture;
  CallDriver("cuCtxPushCurrent_v2", stream.context);
  CallDriver("cuEventCreate", &mark->event, unsigned{CU_EVENT_DISABLE_TIMING});
  CallDriver(std::string("cuEventRecord") + (stream.per_thread ? "_ptsz" : ""), mark->event,
             stream.handle);
  std::uint64_t popped = 0;
  CallDriver("cuCtxPopCurrent_v2", &popped);
  for (const auto& storage : storages)
    (capture != 0 ? storage->last_captured : storage->last) = mark;
  if (capture == 0) return effect();
  auto& log = captures_[capture];
  if (log == nullptr) log = std::make_shared<CaptureLog>();
  log->effects.push_back(std::move(effect));
  log->storages.insert(storages.begin(), storages.end());
}

void Player::Launch() { LaunchKernels(Number(8), current_.values[9], false); }

void Player::LaunchExtended() {
  const calls::Type& type = recording_.types()[current_.call->parameters[0].type];
  if (current_.values[0].bytes.size() < sizeof(CUlaunchConfig) ||
      type.bytes != sizeof(CUlaunchConfig)) {
    return Skip("has another configuration");
  }
  CUlaunchConfig config;
  std::memcpy(&config, current_.values[0].bytes.data(), sizeof config);
  LaunchKernels(AsWord(config.hStream), current_.values[2], true);
}

// Replaces a kernel by one for each region that its parameters point to.
void Player::LaunchKernels(std::uint64_t recorded_stream, const calls::Value& parameters,
                           bool extended) {
  const Stream stream = StreamOf(recorded_stream);
  const auto kernels = kernels_.find(stream.context);
  if (kernels == kernels_.end()) return Skip("in a context that was not made here");
  std::vector<Range> ranges;
  for (const std::uint64_t word : WordsOf(parameters.bytes)) {
    Range range = memory_.At(word, 1);
    if (range.region == nullptr) continue;
    const bool again = std::ranges::any_of(
        ranges, [&](const Range& other) { return other.region->storage == range.region->storage; });
    range.offset = (range.offset + 3) / 4 * 4;
    if (again || range.offset >= range.region->bytes) continue;
    range.bytes = std::min(options_.window, range.region->bytes - range.offset) / 4 * 4;
    if (range.bytes > 0) ranges.push_back(range);
  }
  if (ranges.empty()) {
    std::uint64_t nanoseconds = 0;
    LaunchOne(stream, kernels->second.spin, {&nanoseconds}, extended);
    return;
  }
  for (const Range& range : ranges) {
    if (!Order(stream, {range.region->storage})) return;
    std::uint64_t address = range.address(), words = range.bytes / 4;
    auto value = static_cast<std::uint32_t>(current_.record->sequence * 2654435761u);
    const bool step = IsKnown(range);
    if (!LaunchOne(stream, step ? kernels->second.step : kernels->second.fill,
                   {&address, &words, &value}, extended)) {
      return;
    }
    After(stream, {range.region->storage}, [range, value, step] {
      if (!step) return FillBytes(range, value, 4);
      // At a later launch of a graph, what it was captured with may be unknown.
      IsKnown(range) ? StepWords(range, value) : ForgetBytes(range);
    });
  }
}

bool Player::LaunchOne(const Stream& stream, std::uint64_t function, std::vector<void*> parameters,
                       bool extended) {
  ++launches_;
  const std::uint64_t pointers = AsWord(parameters.data());
  if (!extended) {
    return DoEntry("cuLaunchKernel" + current_.suffix,
                   {function, 1, 1, 1, 256, 1, 1, 0, stream.handle, pointers, 0});
  }
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = reinterpret_cast<CUstream>(stream.handle);
  return DoEntry("cuLaunchKernelEx" + current_.suffix, {AsWord(&config), function, pointers, 0});
}

// cuMemsetD8(address, value, elements), with a stream at the end if Async
void Player::Fill() {
  const unsigned element = current_.base.contains("D32")   ? 4
                           : current_.base.contains("D16") ? 2
                                                           : 1;
  Range to = memory_.At(Number(0), Number(2) * element);
  if (to.region == nullptr) return Skip("of memory that was not allocated here");
  to.bytes = to.bytes / element * element;
  const bool async = current_.values.size() == 4;
  const Stream stream = StreamOf(async ? Number(3) : 0);
  if (!Order(stream, {to.region->storage})) return;
  std::vector<std::uint64_t> words{to.address(), Number(1), to.bytes / element};
  if (async) words.push_back(stream.handle);
  if (!Do(words)) return;
  const std::uint64_t value = Number(1);
  After(stream, {to.region->storage}, [to, value, element] { FillBytes(to, value, element); });
}

// cuMemsetD2D8(address, pitch, value, width, height), with a stream at the end if Async: all rows
// as one, with what lies between them.
void Player::FillRows() {
  const unsigned element = current_.base.contains("D2D32")   ? 4
                           : current_.base.contains("D2D16") ? 2
                                                             : 1;
  if (Number(4) == 0) return Skip("of no memory");
  Range to = memory_.At(Number(0), Number(1) * (Number(4) - 1) + Number(3) * element);
  if (to.region == nullptr) return Skip("of memory that was not allocated here");
  to.bytes = to.bytes / element * element;
  const bool async = current_.values.size() == 6;
  const Stream stream = StreamOf(async ? Number(5) : 0);
  if (!Order(stream, {to.region->storage})) return;
  std::vector<std::uint64_t> words{to.address(), 0, Number(2), to.bytes / element, 1};
  if (async) words.push_back(stream.handle);
  if (!Do(words)) return;
  const std::uint64_t value = Number(2);
  After(stream, {to.region->storage}, [to, value, element] { FillBytes(to, value, element); });
}

// cuMemcpy*(to, from, bytes), with a stream at the end if Async
void Player::Copy() {
  const bool async = current_.base.ends_with("Async");
  std::vector<std::uint64_t> words{0, 0, 0};
  CopyRanges(Number(0), Number(1), Number(2), words, 0, 1, 2, async ? Number(3) : 0, !async);
}

// cuMemcpyPeer(to, to_context, from, from_context, bytes), with a stream at the end if Async
void Player::CopyPeer() {
  std::uint64_t contexts[2] = {};
  if (!Map("CUcontext", Number(1), &contexts[0]) || !Map("CUcontext", Number(3), &contexts[1])) {
    return Skip("of a handle that was not made here");
  }
  const bool async = current_.values.size() == 6;
  CopyRanges(Number(0), Number(2), Number(4), {0, contexts[0], 0, contexts[1], 0}, 0, 2, 4,
             async ? Number(5) : 0, !async);
}

// Returns bytes that depend on the call and stay where they are.
const unsigned char* Player::PatternOf(std::uint64_t bytes) {
  const std::uint64_t shift = current_.record->sequence * 97 % (pattern_.size() / 2);
  if (pattern_.size() < bytes + shift) {
    // Earlier copies keep what they read from.
    kept_.push_back(std::make_unique<std::vector<unsigned char>>(std::move(pattern_)));
    pattern_.resize((bytes + shift) * 2);
    for (std::size_t i = 0; i < pattern_.size(); ++i) {
      pattern_[i] = kept_.back()->at(i % (kept_.back()->size() - 1));
    }
  }
  return pattern_.data() + shift;
}

void Player::CopyRanges(std::uint64_t to_recorded, std::uint64_t from_recorded,
                        std::uint64_t recorded_bytes, std::vector<std::uint64_t> words,
                        std::size_t to_index, std::size_t from_index, std::size_t bytes_index,
                        std::uint64_t recorded_stream, bool synchronous) {
  Range to = memory_.At(to_recorded, recorded_bytes);
  Range from = memory_.At(from_recorded, recorded_bytes);
  if (to.region == nullptr && from.region == nullptr) {
    return Skip("of memory that was not allocated here");
  }
  std::uint64_t bytes = memory_.Scaled(recorded_bytes);
  if (to.region != nullptr) bytes = std::min(bytes, to.bytes);
  if (from.region != nullptr) bytes = std::min(bytes, from.bytes);
  to.bytes = from.bytes = bytes;
  std::vector<std::shared_ptr<Storage>> storages;
  for (const Range* range : {&to, &from}) {
    if (range->region != nullptr) storages.push_back(range->region->storage);
  }
  const Stream stream = StreamOf(recorded_stream);
  const bool captured = CaptureOf(stream) != 0;
  if (!Order(stream, storages)) return;
  // Pageable memory: what is copied from it is a pattern, and what is copied to it is compared.
  std::vector<unsigned char> read;
  unsigned char* target = nullptr;
  if (to.region == nullptr && captured) {
    kept_.push_back(std::make_unique<std::vector<unsigned char>>(bytes));
    target = kept_.back()->data();
  } else if (to.region == nullptr) {
    read.resize(bytes);
    target = read.data();
  }
  const unsigned char* source = from.region == nullptr ? PatternOf(bytes) : nullptr;
  words[to_index] = to.region != nullptr ? to.address() : AsWord(target);
  words[from_index] = from.region != nullptr ? from.address() : AsWord(source);
  words[bytes_index] = bytes;
  if (!synchronous) words.push_back(stream.handle);
  if (!Do(words)) return;
  if (to.region != nullptr && from.region != nullptr) {
    After(stream, storages, [to, from] { CopyBytes(to, from); });
  } else if (to.region != nullptr) {
    After(stream, storages, [to, source] { WriteBytes(to, source); });
  } else {
    After(stream, storages, [] {});
    if (captured) return;
    auto expected = std::make_shared<Storage>(bytes);
    auto region = std::make_shared<Region>();
    region->storage = expected;
    CopyBytes({region, 0, bytes}, from);
    reads_.push_back({from.region->storage->last, std::move(read), std::move(expected),
                      current_.record->sequence});
    CheckReads(synchronous);
  }
}

// cuStreamWriteValue32(stream, address, value, flags)
void Player::WriteValue() {
  const unsigned element = current_.base.ends_with("64") ? 8 : 4;
  const Range to = memory_.At(Number(1), element);
  if (to.region == nullptr || to.bytes < element) {
    return Skip("of memory that was not allocated here");
  }
  const Stream stream = StreamOf(Number(0));
  if (!Order(stream, {to.region->storage})) return;
  if (!Do({stream.handle, to.address(), Number(2), Number(3)})) return;
  const std::uint64_t value = Number(2);
  After(stream, {to.region->storage},
        [range = Range{to.region, to.offset, element}, value, element] {
          FillBytes(range, value, element);
        });
}

void Player::BeginCapture() {
  PlayGeneric();
  captures_[0] = nullptr;  // so that the driver is asked
  const std::uint64_t capture = CaptureOf(StreamOf(Number(0)));
  captures_.erase(0);
  if (capture == 0) return;
  captures_[capture] = std::make_shared<CaptureLog>();
  captures_[capture]->origin = StreamOf(Number(0));
}

// One that failed ends the capture too. An invalid capture has no number any more, so all that the
// stream may have begun are forgotten.
void Player::EndCapture() {
  const Stream stream = StreamOf(Number(0));
  if (current_.record->result != 0) {
    std::uint64_t graph = 0;
    CallEntry(current_.call->name, std::vector<std::uint64_t>{stream.handle, AsWord(&graph)});
    std::erase_if(captures_, [&](const auto& capture) { return capture.second->origin == stream; });
    return Skip("failed when it was recorded");
  }
  const std::uint64_t capture = CaptureOf(stream);
  PlayGeneric();
  const auto log = captures_.find(capture);
  if (log == captures_.end()) return;
  graphs_[Written(1)] = log->second;
  captures_.erase(log);
}

void Player::Instantiate() {
  PlayGeneric();
  const auto graph = graphs_.find(Number(1));
  executables_[Written(0)] =
      graph != graphs_.end() ? graph->second : std::make_shared<CaptureLog>();
}

void Player::LaunchGraph() {
  std::uint64_t executable = 0;
  const auto log = executables_.find(Number(0));
  if (log == executables_.end() || !Map("CUgraphExec", Number(0), &executable)) {
    return Skip("of a handle that was not made here");
  }
  const Stream stream = StreamOf(Number(1));
  const std::vector<std::shared_ptr<Storage>> storages(log->second->storages.begin(),
                                                       log->second->storages.end());
  if (!Order(stream, storages)) return;
  if (!Do({executable, stream.handle})) return;
  ++launches_;
  After(stream, storages, [effects = log->second->effects] {
    for (const Effect& effect : effects) effect();
  });
}

}  // namespace reveza::recorded_calls

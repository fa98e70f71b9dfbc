#include "tests/recorded_calls/player.h"

#include <algorithm>
#include <cstring>

#include "tests/recorded_calls/driver.h"

namespace reveza::recorded_calls {
namespace {

using calls::Class;
using calls::Mode;
using calls::Value;

constexpr std::uint64_t kMaxMismatches = 20;

// Splits an entry's name: cuMemcpyDtoH_v2_ptds is cuMemcpyDtoH of the suffix _ptds.
void Split(std::string name, std::string* base, std::string* suffix) {
  suffix->clear();
  if (name.ends_with("_ptsz") || name.ends_with("_ptds")) {
    *suffix = name.substr(name.size() - 5);
    name.resize(name.size() - 5);
  }
  const auto version = name.rfind("_v");
  const bool versioned = version != std::string::npos &&
                         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(version) + 2,
                                     name.end(), [](char c) { return c >= '0' && c <= '9'; });
  *base = versioned ? name.substr(0, version) : name;
}

}  // namespace

const std::map<std::string, Player::Handler, std::less<>>& Player::Handlers() {
  static const auto* const handlers = new std::map<std::string, Handler, std::less<>>{
      {"cuCtxCreate", &Player::MakeContext},
      {"cuDevicePrimaryCtxRetain", &Player::RetainPrimary},
      {"cuCtxDestroy", &Player::EndContext},
      {"cuCtxSetCurrent", &Player::SetCurrentContext},
      {"cuDevicePrimaryCtxRelease", &Player::EndPrimary},
      {"cuDevicePrimaryCtxReset", &Player::EndPrimary},
      {"cuStreamCreate", &Player::CreateStream},
      {"cuStreamCreateWithPriority", &Player::CreateStream},
      {"cuModuleLoad", &Player::LoadModule},
      {"cuModuleLoadData", &Player::LoadModule},
      {"cuModuleLoadDataEx", &Player::LoadModule},
      {"cuModuleLoadFatBinary", &Player::LoadModule},
      {"cuEventQuery", &Player::WaitForQuery},
      {"cuStreamQuery", &Player::WaitForQuery},
      {"cuEventElapsedTime", &Player::ElapsedTime},
      {"cuStreamSynchronize", &Player::WaitAndCheck},
      {"cuEventSynchronize", &Player::WaitAndCheck},
      {"cuCtxSynchronize", &Player::WaitAndCheck},
      {"cuLaunchHostFunc", &Player::HostFunction},
      {"cuStreamAddCallback", &Player::StreamCallback},
      {"cuMemAlloc", &Player::Allocate},
      {"cuMemAllocPitch", &Player::AllocatePitch},
      {"cuMemAllocManaged", &Player::AllocateManaged},
      {"cuMemAllocAsync", &Player::AllocateAsync},
      {"cuMemAllocFromPoolAsync", &Player::AllocateAsync},
      {"cuMemHostAlloc", &Player::AllocateHost},
      {"cuMemAllocHost", &Player::AllocateHost},
      {"cuMemHostRegister", &Player::RegisterHost},
      {"cuMemHostUnregister", &Player::UnregisterHost},
      {"cuMemHostGetDevicePointer", &Player::DevicePointer},
      {"cuMemFree", &Player::Free},
      {"cuMemFreeAsync", &Player::FreeAsync},
      {"cuMemFreeHost", &Player::FreeHost},
      {"cuMemAddressReserve", &Player::Reserve},
      {"cuMemCreate", &Player::CreateHandle},
      {"cuMemRetainAllocationHandle", &Player::RetainHandle},
      {"cuMemExportToShareableHandle", &Player::ExportHandle},
      {"cuMemImportFromShareableHandle", &Player::ImportHandle},
      {"cuMemRelease", &Player::ReleaseHandle},
      {"cuMemMap", &Player::MapHandle},
      {"cuMemSetAccess", &Player::SetAccess},
      {"cuMemUnmap", &Player::Unmap},
      {"cuMemPrefetchAsync", &Player::Prefetch},
      {"cuLaunchKernel", &Player::Launch},
      {"cuLaunchCooperativeKernel", &Player::Launch},
      {"cuLaunchKernelEx", &Player::LaunchExtended},
      {"cuMemsetD8", &Player::Fill},
      {"cuMemsetD16", &Player::Fill},
      {"cuMemsetD32", &Player::Fill},
      {"cuMemsetD8Async", &Player::Fill},
      {"cuMemsetD16Async", &Player::Fill},
      {"cuMemsetD32Async", &Player::Fill},
      {"cuMemsetD2D8", &Player::FillRows},
      {"cuMemsetD2D16", &Player::FillRows},
      {"cuMemsetD2D32", &Player::FillRows},
      {"cuMemsetD2D8Async", &Player::FillRows},
      {"cuMemsetD2D16Async", &Player::FillRows},
      {"cuMemsetD2D32Async", &Player::FillRows},
      {"cuMemcpy", &Player::Copy},
      {"cuMemcpyAsync", &Player::Copy},
      {"cuMemcpyHtoD", &Player::Copy},
      {"cuMemcpyHtoDAsync", &Player::Copy},
      {"cuMemcpyDtoH", &Player::Copy},
      {"cuMemcpyDtoHAsync", &Player::Copy},
      {"cuMemcpyDtoD", &Player::Copy},
      {"cuMemcpyDtoDAsync", &Player::Copy},
      {"cuMemcpy2D", &Player::CopyBox},
      {"cuMemcpy2DAsync", &Player::CopyBox},
      {"cuMemcpy2DUnaligned", &Player::CopyBox},
      {"cuMemcpy3D", &Player::CopyBox},
      {"cuMemcpy3DAsync", &Player::CopyBox},
      {"cuMemcpyPeer", &Player::CopyPeer},
      {"cuMemcpyPeerAsync", &Player::CopyPeer},
      {"cuStreamWriteValue32", &Player::WriteValue},
      {"cuStreamWriteValue64", &Player::WriteValue},
      {"cuStreamBeginCapture", &Player::BeginCapture},
      {"cuStreamBeginCaptureToGraph", &Player::BeginCapture},
      {"cuStreamEndCapture", &Player::EndCapture},
      {"cuGraphInstantiate", &Player::Instantiate},
      {"cuGraphInstantiateWithFlags", &Player::Instantiate},
      {"cuGraphInstantiateWithParams", &Player::Instantiate},
      {"cuGraphLaunch", &Player::LaunchGraph},
      // Their parameters are not all recorded, or what they do depends on the program's own memory
      // or on other processes.
      {"cuMemcpy3DPeer", &Player::SkipCall},
      {"cuMemcpy3DPeerAsync", &Player::SkipCall},
      {"cuThreadExchangeStreamCaptureMode", &Player::SkipCall},
      {"cuMemPoolSetAttribute", &Player::SkipCall},
      {"cuPointerSetAttribute", &Player::SkipCall},
      {"cuStreamWaitValue32", &Player::SkipCall},
      {"cuStreamWaitValue64", &Player::SkipCall},
      {"cuStreamBatchMemOp", &Player::SkipCall},
      {"cuGraphAddNode", &Player::SkipCall},
      {"cuGraphAddMemAllocNode", &Player::SkipCall},
      {"cuGraphAddMemFreeNode", &Player::SkipCall},
      {"cuIpcGetMemHandle", &Player::SkipCall},
      {"cuIpcOpenMemHandle", &Player::SkipCall},
      {"cuIpcCloseMemHandle", &Player::SkipCall},
      {"cuIpcGetEventHandle", &Player::SkipCall},
      {"cuIpcOpenEventHandle", &Player::SkipCall},
  };
  return *handlers;
}

Player::Player(const calls::CallRecording& recording, PlayOptions options)
    : recording_(recording),
      options_(options),
      corrupt_at_(options.corrupt_at),
      memory_(options.scale) {
  pattern_.resize(1 << 20);
  std::uint32_t word = 1;
  for (unsigned char& byte : pattern_) {
    word = word * 1664525u + 1013904223u;
    byte = static_cast<unsigned char>(word >> 24);
  }
}

bool Player::PrepareThread() {
  // Calls that a capture forbids to other threads are made all the same: a program may have changed
  // the mode for them, and the recording does not say to what.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  return CallDriver("cuThreadExchangeStreamCaptureMode", &mode) == CUDA_SUCCESS;
}

void Player::Play(const calls::Record& record) {
  const calls::Call& call = recording_.calls()[record.call];
  current_ = {.record = &record, .call = &call, .values = {}, .base = {}, .suffix = {}};
  Split(call.name, &current_.base, &current_.suffix);
  if (record.result != 0 && current_.base != "cuStreamEndCapture") {
    return Skip("failed when it was recorded");
  }
  if (!record.has_values) return Skip("its parameters were too large");
  current_.values = recording_.Values(record);
  if (call.name == "unknown") {
    current_.base = current_.values[0].bytes;
    return Skip("newer than the recorder");
  }
  SetAwaitedContext();
  if (corrupt_at_ != 0 && record.sequence >= corrupt_at_) Corrupt();
  const auto handler = Handlers().find(current_.base);
  handler != Handlers().end() ? (this->*handler->second)() : PlayGeneric();
}

void Player::End() {
  CheckReads(true);
  current_ = {};
  for (const auto& region : memory_.All()) CheckRegion(*region);
  for (const std::uint64_t device : devices_) {
    std::uint64_t context = 0;
    CallDriver("cuDevicePrimaryCtxRetain", &context, device);
  }
}

std::uint64_t Player::Written(std::size_t index) const {
  const Value& value = current_.values[index];
  return value.numbers.empty() ? 0 : value.numbers[0];
}

bool Player::Do(const std::vector<std::uint64_t>& words) {
  return DoEntry(current_.call->name, words);
}

bool Player::DoEntry(const std::string& entry, const std::vector<std::uint64_t>& words) {
  const CUresult result = CallEntry(entry, words);
  if (result == CUDA_SUCCESS) {
    ++played_;
    return true;
  }
  if (result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_NOT_FOUND) {
    Skip("not supported by this driver");
    return false;
  }
  failures_ += "failed: call " + std::to_string(current_.record->sequence) + " " +
               current_.call->name + ": " + std::to_string(static_cast<int>(result)) + "\n";
  return false;
}

void Player::Skip(const std::string& why) { ++skipped_[current_.base + ": " + why]; }

void Player::Wrong(const std::string& what) {
  if (++mismatches_ <= kMaxMismatches) failures_ += "wrong: " + what + "\n";
}

bool Player::Map(const std::string& type, std::uint64_t recorded, std::uint64_t* handle) const {
  *handle = recorded;
  // Null, and the special streams.
  if (recorded <= 2) return true;
  const auto handles = handles_.find(type);
  if (handles == handles_.end()) return false;
  const auto found = handles->second.find(recorded);
  if (found == handles->second.end()) return false;
  *handle = found->second;
  return true;
}

void Player::Bind(const std::string& type, std::uint64_t recorded, std::uint64_t handle) {
  handles_[type][recorded] = handle;
}

// Replaces the handles and addresses in a struct.
bool Player::MapStruct(const calls::Type& type, unsigned char* bytes) {
  for (const calls::Field& field : type.fields) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + field.offset, sizeof word);
    const calls::Type& inner = recording_.types()[field.type];
    if (inner.kind == Class::kPointer || field.count != calls::kNoCount) word = 0;
    if (inner.kind == Class::kHandle && !Map(inner.name, word, &word)) return false;
    if (inner.kind == Class::kAddress && word != 0) {
      const Range range = memory_.At(word, 1);
      if (range.region == nullptr) return false;
      word = range.address();
    }
    std::memcpy(bytes + field.offset, &word, sizeof word);
    if (field.count != calls::kNoCount) std::memset(bytes + field.count, 0, sizeof(int));
  }
  return true;
}

// Returns why a parameter cannot be passed, or null. `buffer` holds what it points to.
const char* Player::Argument(std::size_t index, std::string* buffer, std::uint64_t* word) {
  const calls::Parameter& parameter = current_.call->parameters[index];
  const calls::Type& type = recording_.types()[parameter.type];
  const Value& value = current_.values[index];
  *word = value.number;
  if (parameter.mode == Mode::kText) *word = reinterpret_cast<std::uint64_t>(value.bytes.c_str());
  if (parameter.mode == Mode::kRead || parameter.mode == Mode::kWritten) {
    return value.present ? Elements(index, buffer, word) : nullptr;
  }
  if (parameter.mode != Mode::kValue) return nullptr;
  if (type.kind == Class::kFloat) return "takes a floating-point number";
  if (type.kind == Class::kHandle) {
    return Map(type.name, *word, word) ? nullptr : "of a handle that was not made here";
  }
  const bool is_address = type.kind == Class::kAddress || type.kind == Class::kPointer;
  if (!is_address || *word == 0) return nullptr;
  const auto reserved = reservations_.find(*word);
  const Range range = memory_.At(*word, 1);
  if (range.region == nullptr && reserved == reservations_.end()) {
    return "of memory that was not allocated here";
  }
  *word = range.region != nullptr ? range.address() : reserved->second.address;
  return nullptr;
}

// The same of a parameter that points to elements.
const char* Player::Elements(std::size_t index, std::string* buffer, std::uint64_t* word) {
  const calls::Parameter& parameter = current_.call->parameters[index];
  const calls::Type& type = recording_.types()[parameter.type];
  const Value& value = current_.values[index];
  *buffer = value.bytes;
  for (std::size_t at = 0; type.kind == Class::kStruct && at + type.bytes <= buffer->size();
       at += type.bytes) {
    if (!MapStruct(type, reinterpret_cast<unsigned char*>(buffer->data()) + at)) {
      return "of a handle or memory that was not made here";
    }
  }
  for (std::uint64_t number : value.numbers) {
    if (parameter.mode == Mode::kRead && type.kind == Class::kHandle &&
        !Map(type.name, number, &number)) {
      return "of a handle that was not made here";
    }
    buffer->append(reinterpret_cast<const char*>(&number), type.bytes);
  }
  // Room for one more, so that no driver writes beyond.
  buffer->resize(buffer->size() + std::max<std::size_t>(type.bytes, 64));
  *word = reinterpret_cast<std::uint64_t>(buffer->data());
  return nullptr;
}

void Player::PlayGeneric() {
  std::vector<std::uint64_t> words(current_.values.size());
  std::vector<std::string> buffers(current_.values.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const char* why = Argument(i, &buffers[i], &words[i])) return Skip(why);
  }
  if (!Do(words)) return;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const calls::Parameter& parameter = current_.call->parameters[i];
    const calls::Type& type = recording_.types()[parameter.type];
    if (parameter.mode != Mode::kWritten || type.kind != Class::kHandle) continue;
    for (std::size_t k = 0; k < current_.values[i].numbers.size(); ++k) {
      std::uint64_t handle = 0;
      std::memcpy(&handle, buffers[i].data() + k * type.bytes, type.bytes);
      Bind(type.name, current_.values[i].numbers[k], handle);
    }
  }
}

std::string Player::Summary() const {
  std::string text = failures_;
  for (const auto& [what, count] : skipped_) {
    text += "skipped: " + std::to_string(count) + " " + what + "\n";
  }
  text += std::to_string(played_) + " calls played, " + std::to_string(launches_) + " kernels, " +
          std::to_string(checked_bytes_) + " bytes compared, " + std::to_string(mismatches_) +
          " differences\n";
  return text;
}

}  // namespace reveza::recorded_calls

#include "reveza/gpu/calls/recorder.h"

#include <algorithm>
#include <cstddef>

#include "generated/calls/recorded_calls.h"
#include "reveza/gpu/calls/call_file.h"
#include "reveza/gpu/calls/encoder.h"
#include "reveza/gpu/calls/kernel_parameters.h"
#include "reveza/gpu/interpose/resolver.h"

namespace reveza::calls {
namespace {

using Words = std::initializer_list<std::uint64_t>;

const void* Pointer(std::uint64_t word) { return reinterpret_cast<const void*>(word); }

void EncodeElements(Encoder& out, const TypeRow& type, const void* data, std::size_t count);

// Encodes the arrays that a struct points to.
void EncodeMembers(Encoder& out, const TypeRow& type, const unsigned char* data) {
  for (const FieldRow& field : type.fields) {
    if (field.count == kNoCount) continue;
    const void* elements = nullptr;
    unsigned count = 0;
    std::memcpy(&elements, data + field.offset, sizeof elements);
    std::memcpy(&count, data + field.count, sizeof count);
    EncodeElements(out, TypeRows()[field.type], elements, count);
  }
}

// Encodes 0 for a null pointer, else one more than the number of elements, and the elements.
void EncodeElements(Encoder& out, const TypeRow& type, const void* data, std::size_t count) {
  count = std::min(count, kMaxElements);
  out.Number(data == nullptr ? 0 : count + 1);
  if (data == nullptr) return;
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < count; ++i, at += type.bytes) {
    if (type.kind == Class::kStruct) {
      out.Words(at, type.bytes);
      EncodeMembers(out, type, at);
    } else {
      std::uint64_t word = 0;
      std::memcpy(&word, at, std::min<std::size_t>(type.bytes, sizeof word));
      out.Number(word);
    }
  }
}

void EncodeText(Encoder& out, const char* text) {
  out.Number(text != nullptr ? 1 : 0);
  if (text != nullptr) out.Text({text, strnlen(text, kMaxText)});
}

// Encodes the bytes of the parameters of a launch: their number, and the words.
void EncodeLaunch(Encoder& out, const CallRow& call, const ParameterRow& row, std::size_t index,
                  const Words& words) {
  // The function is the parameter of its type.
  CUfunction function = nullptr;
  for (std::size_t i = 0; i < index; ++i) {
    const std::string_view type = TypeRows()[call.parameters[i].type].name;
    if (call.parameters[i].mode == Mode::kValue && type == "CUfunction") {
      function = static_cast<CUfunction>(const_cast<void*>(Pointer(words.begin()[i])));
    }
  }
  unsigned char bytes[kMaxLaunchBytes];
  const auto* parameters = static_cast<void* const*>(Pointer(words.begin()[index]));
  const auto* extra =
      row.count < 0 ? nullptr : static_cast<void* const*>(Pointer(words.begin()[row.count]));
  const std::size_t used = CopyKernelParameters(function, parameters, extra, bytes);
  out.Number(used);
  out.Words(bytes, used);
}

void EncodeParameter(Encoder& out, const CallRow& call, std::size_t index, const Words& words) {
  const ParameterRow& row = call.parameters[index];
  const std::uint64_t word = words.begin()[index];
  switch (row.mode) {
    case Mode::kIgnored:
      break;
    case Mode::kValue:
      out.Number(word);
      break;
    case Mode::kText:
      EncodeText(out, static_cast<const char*>(Pointer(word)));
      break;
    case Mode::kRead:
    case Mode::kWritten:
      EncodeElements(out, TypeRows()[row.type], Pointer(word),
                     row.count < 0 ? 1 : words.begin()[row.count]);
      break;
    case Mode::kLaunch:
      EncodeLaunch(out, call, row, index, words);
      break;
  }
}

// Encodes the call, its result, and the parameters. Those of a call that fails are encoded as null
// where the driver should have written them.
std::size_t Encode(Encoder& out, unsigned number, CUresult result, const Words& words) {
  const CallRow& call = CallRows()[number];
  out.Number(number);
  out.Number(static_cast<std::uint64_t>(result));
  const std::size_t before = out.size();
  out.Byte(1);
  for (std::size_t i = 0; i < call.parameters.size(); ++i) {
    if (result != CUDA_SUCCESS && call.parameters[i].mode == Mode::kWritten) {
      out.Number(0);
    } else {
      EncodeParameter(out, call, i, words);
    }
  }
  if (out.overflown()) {
    // Parameters that are too large are left out.
    out.Rewind(before);
    out.Byte(0);
  }
  return out.size();
}

// Keeps up with handles of functions.
void FollowFunctions(unsigned call, const Words& words) {
  switch (call) {
    case k_cuLibraryGetKernel: {
      CUkernel kernel = nullptr;
      std::memcpy(&kernel, Pointer(words.begin()[0]), sizeof kernel);
      NoteKernel(kernel);
      break;
    }
    case k_cuModuleUnload:
    case k_cuCtxDestroy:
    case k_cuCtxDestroy_v2:
    case k_cuDevicePrimaryCtxRelease:
    case k_cuDevicePrimaryCtxRelease_v2:
    case k_cuDevicePrimaryCtxReset:
    case k_cuDevicePrimaryCtxReset_v2:
      ForgetFunctions();
      break;
    default:
      break;
  }
}

}  // namespace

Recording::Recording(unsigned call) : call_(call), sequence_(0) {
  if (CallRows()[call].place == Place::kEntry && IsRecording()) sequence_ = NextSequence();
}

CUresult Recording::End(CUresult result, std::initializer_list<std::uint64_t> words) const {
  const CallRow& call = CallRows()[call_];
  if (call.only_success && result != CUDA_SUCCESS) return result;
  ThreadRecords* const records = ThreadRecords::Acquire();
  if (records == nullptr) return result;
  const std::uint64_t sequence = call.place == Place::kReturn ? NextSequence() : sequence_;
  Encoder out(records->scratch(), ThreadRecords::kScratchBytes);
  records->Append(Encode(out, call_, result, words), sequence);
  records->Release();
  if (result == CUDA_SUCCESS) FollowFunctions(call_, words);
  return result;
}

}  // namespace reveza::calls

// Contexts do not leave: the resolver needs it.
void reveza::interpose::KeepContexts() {}

void reveza::interpose::OnUnknownCall(const char* name) {
  const reveza::calls::Recording recording(reveza::calls::k_unknown);
  recording.End(CUDA_SUCCESS, {reveza::calls::Word(name)});
}

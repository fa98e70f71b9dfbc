#include "reveza/gpu/calls/kernel_parameters.h"

#include <cstdlib>
#include <cstring>

#include "common/base/mutex.h"
#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/calls/format.h"

namespace reveza::calls {
namespace {

struct Span {
  std::uint32_t offset;
  std::uint32_t bytes;
};

struct Layout {
  const void* function = nullptr;
  std::size_t count = 0;
  Span* places = nullptr;  // owned; never freed while the entry exists
  bool kernel = false;     // a CUkernel
};

constexpr std::size_t kMaxParameters = 4096;

// Open addressing; grows at three quarters. Without a destructor, so that late calls may use it.
class Layouts {
 public:
  constexpr Layouts() = default;

  Layout* Find(const void* function) {
    for (std::size_t i = First(function); capacity_ > 0; i = (i + 1) % capacity_) {
      if (entries_[i].function == function) return &entries_[i];
      if (entries_[i].function == nullptr) return nullptr;
    }
    return nullptr;
  }

  Layout* Add(const void* function) {
    if ((used_ + 1) * 4 > capacity_ * 3 && !Grow()) return nullptr;
    std::size_t i = First(function);
    while (entries_[i].function != nullptr) i = (i + 1) % capacity_;
    ++used_;
    entries_[i].function = function;
    return &entries_[i];
  }

  // Keeps which handles are kernels.
  void ForgetPlaces() {
    for (std::size_t i = 0; i < capacity_; ++i) {
      free(entries_[i].places);
      entries_[i].places = nullptr;
    }
  }

 private:
  std::size_t First(const void* function) const {
    const auto number = reinterpret_cast<std::uintptr_t>(function);
    return capacity_ == 0 ? 0 : number * 0x9e3779b97f4a7c15u % capacity_;
  }

  bool Grow() {
    Layouts larger;
    larger.capacity_ = capacity_ == 0 ? 256 : capacity_ * 2;
    larger.entries_ = static_cast<Layout*>(calloc(larger.capacity_, sizeof(Layout)));
    if (larger.entries_ == nullptr) return false;
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (entries_[i].function != nullptr) *larger.Add(entries_[i].function) = entries_[i];
    }
    free(entries_);
    *this = larger;
    return true;
  }

  Layout* entries_ = nullptr;
  std::size_t capacity_ = 0, used_ = 0;
};

constinit Mutex layouts_mutex;
constinit Layouts layouts GUARDED_BY(layouts_mutex);

CUresult Ask(const Layout& layout, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  const auto& real = interpose::Real();
  if (layout.kernel) {
    auto* const kernel = static_cast<CUkernel>(const_cast<void*>(layout.function));
    return real.cuKernelGetParamInfo != nullptr
               ? real.cuKernelGetParamInfo(kernel, index, offset, bytes)
               : CUDA_ERROR_NOT_FOUND;
  }
  auto* const function = static_cast<CUfunction>(const_cast<void*>(layout.function));
  return real.cuFuncGetParamInfo != nullptr
             ? real.cuFuncGetParamInfo(function, index, offset, bytes)
             : CUDA_ERROR_NOT_FOUND;
}

// Asks the driver for each parameter until it reports that there is none.
void Fill(Layout* layout) {
  auto* const places = static_cast<Span*>(malloc(kMaxParameters * sizeof(Span)));
  if (places == nullptr) return;
  std::size_t count = 0, offset = 0, bytes = 0;
  while (count < kMaxParameters && Ask(*layout, count, &offset, &bytes) == CUDA_SUCCESS) {
    if (offset > kMaxLaunchBytes || bytes > kMaxLaunchBytes - offset) break;
    places[count++] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)};
  }
  layout->count = count;
  layout->places = static_cast<Span*>(realloc(places, (count + 1) * sizeof(Span)));
}

std::size_t CopyExtra(void* const* extra, unsigned char* buffer) {
  const void* from = nullptr;
  std::size_t bytes = 0;
  for (void* const* at = extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
    if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) from = at[1];
    if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) std::memcpy(&bytes, at[1], sizeof bytes);
  }
  if (from == nullptr || bytes > kMaxLaunchBytes) return 0;
  std::memcpy(buffer, from, bytes);
  return bytes;
}

}  // namespace

std::size_t CopyKernelParameters(CUfunction function, void* const* parameters, void* const* extra,
                                 unsigned char* buffer) {
  if (extra != nullptr) return CopyExtra(extra, buffer);
  if (parameters == nullptr || function == nullptr) return 0;
  const MutexLock lock(layouts_mutex);
  Layout* layout = layouts.Find(function);
  if (layout == nullptr) layout = layouts.Add(function);
  if (layout == nullptr) return 0;
  if (layout->places == nullptr) Fill(layout);
  std::size_t used = 0;
  for (std::size_t i = 0; i < layout->count; ++i) {
    const Span& place = layout->places[i];
    if (place.offset > used) std::memset(buffer + used, 0, place.offset - used);
    std::memcpy(buffer + place.offset, parameters[i], place.bytes);
    const std::size_t end = place.offset + place.bytes;
    if (end > used) used = end;
  }
  return used;
}

void NoteKernel(CUkernel kernel) {
  const MutexLock lock(layouts_mutex);
  Layout* layout = layouts.Find(kernel);
  if (layout == nullptr) layout = layouts.Add(kernel);
  if (layout != nullptr) layout->kernel = true;
}

void ForgetFunctions() {
  const MutexLock lock(layouts_mutex);
  layouts.ForgetPlaces();
}

}  // namespace reveza::calls

#include "kernels.h"

#include <time.h>

#include <algorithm>
#include <cstring>

namespace fakecuda {
namespace {

// So much work is done before a kernel looks whether its memory has been taken away.
constexpr std::size_t kChunk = 1 << 16;

std::uint64_t Mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// The words that a kernel works on, or why it cannot.
template <typename Word>
struct Words {
  Words(Execution& execution, CUdeviceptr start, std::size_t count, bool write) {
    if (start % sizeof(Word) != 0) {
      result = CUDA_ERROR_MISALIGNED_ADDRESS;
      return;
    }
    if (count == 0) return;
    const bool too_many = count > (std::size_t{1} << 60) / sizeof(Word);
    data = too_many ? nullptr
                    : reinterpret_cast<Word*>(execution.Range(start, count * sizeof(Word), write));
    if (data == nullptr) result = CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  Word* data = nullptr;
  CUresult result = CUDA_SUCCESS;
};

// Calls each(i) for every i below `count`, as long as nobody aborts it.
template <typename Each>
CUresult ForAll(const Execution& execution, std::size_t count, Each each) {
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    if (execution.aborted()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    const std::size_t end = std::min(count, begin + kChunk);
    for (std::size_t i = begin; i < end; ++i) each(i);
  }
  return CUDA_SUCCESS;
}

template <typename Change>
CUresult ChangeWords(Execution& execution, const Arguments& arguments, Change change) {
  const auto count = arguments.Get<std::size_t>(1);
  const Words<unsigned> words(execution, arguments.Get<CUdeviceptr>(0), count, true);
  if (words.result != CUDA_SUCCESS) return words.result;
  unsigned* p = words.data;
  return ForAll(execution, count, [p, change](std::size_t i) { p[i] = change(p[i], i); });
}

CUresult Fill(Execution& execution, const Arguments& arguments) {
  const auto value = arguments.Get<unsigned>(2);
  return ChangeWords(execution, arguments, [value](unsigned, std::size_t) { return value; });
}

CUresult Add(Execution& execution, const Arguments& arguments) {
  const auto value = arguments.Get<unsigned>(2);
  return ChangeWords(execution, arguments,
                     [value](unsigned word, std::size_t) { return word + value; });
}

CUresult Step(Execution& execution, const Arguments& arguments) {
  const auto seed = arguments.Get<unsigned>(2);
  return ChangeWords(execution, arguments, [seed](unsigned word, std::size_t i) {
    return word * 1664525u + 1013904223u + (seed ^ static_cast<unsigned>(i));
  });
}

CUresult AddToSum(Execution& execution, CUdeviceptr where, unsigned long long sum) {
  const Words<unsigned long long> out(execution, where, 1, true);
  if (out.result != CUDA_SUCCESS) return out.result;
  __atomic_fetch_add(out.data, sum, __ATOMIC_RELAXED);
  return CUDA_SUCCESS;
}

CUresult Verify(Execution& execution, const Arguments& arguments) {
  const auto count = arguments.Get<std::size_t>(1);
  const auto value = arguments.Get<unsigned>(2);
  const Words<unsigned> words(execution, arguments.Get<CUdeviceptr>(0), count, false);
  if (words.result != CUDA_SUCCESS) return words.result;
  unsigned long long mismatches = 0;
  const CUresult result = ForAll(
      execution, count, [&](std::size_t i) { mismatches += words.data[i] != value ? 1 : 0; });
  if (result != CUDA_SUCCESS) return result;
  return AddToSum(execution, arguments.Get<CUdeviceptr>(3), mismatches);
}

CUresult Hash(Execution& execution, const Arguments& arguments) {
  const auto count = arguments.Get<std::size_t>(1);
  const Words<unsigned> words(execution, arguments.Get<CUdeviceptr>(0), count, false);
  if (words.result != CUDA_SUCCESS) return words.result;
  unsigned long long sum = 0;
  const CUresult result = ForAll(execution, count, [&](std::size_t i) {
    sum += Mix64((static_cast<std::uint64_t>(i) << 32) | words.data[i]);
  });
  if (result != CUDA_SUCCESS) return result;
  return AddToSum(execution, arguments.Get<CUdeviceptr>(2), sum);
}

void Sleep(std::uint64_t nanoseconds) {
  const timespec time = {static_cast<time_t>(nanoseconds / 1'000'000'000),
                         static_cast<long>(nanoseconds % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

CUresult Spin(Execution&, const Arguments& arguments) {
  Sleep(arguments.Get<unsigned long long>(0));
  return CUDA_SUCCESS;
}

// The doctor's kernel, on a card that nobody has to wait for.
CUresult Watch(Execution& execution, const Arguments& arguments) {
  const Words<std::uint64_t> out(execution, arguments.Get<CUdeviceptr>(0), 3, true);
  if (out.result != CUDA_SUCCESS) return out.result;
  const auto nanoseconds = arguments.Get<std::uint64_t>(1);
  Sleep(nanoseconds);
  out.data[0] = nanoseconds;
  out.data[1] = 0;
  out.data[2] = 0;
  return CUDA_SUCCESS;
}

CUresult WriteUntil(Execution& execution, const Arguments& arguments) {
  const auto count = arguments.Get<std::size_t>(1);
  const Words<unsigned> words(execution, arguments.Get<CUdeviceptr>(0), count, true);
  const Words<unsigned> flag(execution, arguments.Get<CUdeviceptr>(2), 1, false);
  if (words.result != CUDA_SUCCESS) return words.result;
  if (flag.result != CUDA_SUCCESS) return flag.result;
  while (__atomic_load_n(flag.data, __ATOMIC_ACQUIRE) == 0) {
    const CUresult result = ForAll(execution, count, [&](std::size_t i) { ++words.data[i]; });
    if (result != CUDA_SUCCESS) return result;
    if (execution.aborted()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    Sleep(20'000);  // leave the machine to the others
  }
  return CUDA_SUCCESS;
}

CUresult Copy(Execution& execution, const Arguments& arguments) {
  const auto count = arguments.Get<std::size_t>(2);
  const Words<unsigned> to(execution, arguments.Get<CUdeviceptr>(0), count, true);
  const Words<unsigned> from(execution, arguments.Get<CUdeviceptr>(1), count, false);
  if (to.result != CUDA_SUCCESS) return to.result;
  if (from.result != CUDA_SUCCESS) return from.result;
  return ForAll(execution, count, [&](std::size_t i) { to.data[i] = from.data[i]; });
}

}  // namespace

std::vector<std::size_t> Kernel::Offsets() const {
  std::vector<std::size_t> offsets;
  std::size_t at = 0;
  for (const std::size_t size : parameter_sizes) {
    at = (at + size - 1) / size * size;  // all are as large as their alignment
    offsets.push_back(at);
    at += size;
  }
  offsets.push_back(at);
  return offsets;
}

Arguments::Arguments(const Kernel& kernel, void* const* pointers) : offsets_(kernel.Offsets()) {
  bytes_.resize(offsets_.back());
  for (std::size_t i = 0; i < kernel.parameter_sizes.size(); ++i) {
    complete_ = complete_ && pointers != nullptr && pointers[i] != nullptr;
    if (!complete_) return;
    std::memcpy(bytes_.data() + offsets_[i], pointers[i], kernel.parameter_sizes[i]);
  }
}

Arguments::Arguments(const Kernel& kernel, const void* buffer, std::size_t bytes)
    : offsets_(kernel.Offsets()) {
  complete_ = bytes >= offsets_.back() && (buffer != nullptr || offsets_.back() == 0);
  const auto* from = static_cast<const unsigned char*>(buffer);
  if (complete_) bytes_.assign(from, from + offsets_.back());
}

const std::vector<Kernel>& AllKernels() {
  static const auto* kernels = new std::vector<Kernel>{
      {"reveza_fill", {8, 8, 4}, Fill},   {"reveza_add", {8, 8, 4}, Add},
      {"reveza_step", {8, 8, 4}, Step},   {"reveza_verify", {8, 8, 4, 8}, Verify},
      {"reveza_hash", {8, 8, 8}, Hash},   {"reveza_spin", {8}, Spin},
      {"reveza_watch", {8, 8, 8}, Watch}, {"reveza_write_until", {8, 8, 8}, WriteUntil},
      {"reveza_copy", {8, 8, 8}, Copy},
  };
  return *kernels;
}

const Kernel* FindKernel(std::string_view name) {
  for (const Kernel& kernel : AllKernels()) {
    if (name == kernel.name) return &kernel;
  }
  return nullptr;
}

}  // namespace fakecuda

#include "fakecuda/kernels.h"

#include <time.h>

#include <algorithm>
#include <cstring>

namespace fakecuda {
namespace {

// Words processed between checks for an abort.
constexpr std::size_t kChunk = 1 << 16;

std::uint64_t Mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Access to the words of a kernel argument, or the error.
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

// Calls each(i) for every i < count unless aborted.
template <typename Each>
CUresult ForAll(const Execution& execution, std::size_t count, Each each) {
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    if (execution.aborted()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    const std::size_t end = std::min(count, begin + kChunk);
    for (std::size_t i = begin; i < end; ++i) each(i);
  }
  return CUDA_SUCCESS;
}

// Replaces each word by change(word, index, value).
template <unsigned (*change)(unsigned, std::size_t, unsigned)>
CUresult ChangeWords(Execution& execution, const Arguments& arguments) {
  const auto count = arguments.Get<std::size_t>(1);
  const auto value = arguments.Get<unsigned>(2);
  const Words<unsigned> words(execution, arguments.Get<CUdeviceptr>(0), count, true);
  RETURN_IF_ERROR(words.result);
  unsigned* p = words.data;
  return ForAll(execution, count, [p, value](std::size_t i) { p[i] = change(p[i], i, value); });
}

unsigned Fill(unsigned, std::size_t, unsigned value) { return value; }
unsigned Add(unsigned word, std::size_t, unsigned value) { return word + value; }
unsigned Step(unsigned word, std::size_t i, unsigned seed) {
  return word * 1664525u + 1013904223u + (seed ^ static_cast<unsigned>(i));
}

// Adds the sum of each(word, index) over all words to the integer at `out`.
template <typename Each>
CUresult SumWords(Execution& execution, const Arguments& arguments, CUdeviceptr out, Each each) {
  const auto count = arguments.Get<std::size_t>(1);
  const Words<unsigned> words(execution, arguments.Get<CUdeviceptr>(0), count, false);
  RETURN_IF_ERROR(words.result);
  unsigned long long sum = 0;
  RETURN_IF_ERROR(ForAll(execution, count, [&](std::size_t i) { sum += each(words.data[i], i); }));
  const Words<unsigned long long> total(execution, out, 1, true);
  RETURN_IF_ERROR(total.result);
  __atomic_fetch_add(total.data, sum, __ATOMIC_RELAXED);
  return CUDA_SUCCESS;
}

CUresult Verify(Execution& execution, const Arguments& arguments) {
  const auto value = arguments.Get<unsigned>(2);
  return SumWords(execution, arguments, arguments.Get<CUdeviceptr>(3),
                  [value](unsigned word, std::size_t) { return word != value ? 1u : 0u; });
}

CUresult Hash(Execution& execution, const Arguments& arguments) {
  return SumWords(execution, arguments, arguments.Get<CUdeviceptr>(2),
                  [](std::uint64_t word, std::uint64_t i) { return Mix64(i << 32 | word); });
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

// Kernel of `reveza doctor`; reports an uncontended device.
CUresult Watch(Execution& execution, const Arguments& arguments) {
  const Words<std::uint64_t> out(execution, arguments.Get<CUdeviceptr>(0), 3, true);
  RETURN_IF_ERROR(out.result);
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
  RETURN_IF_ERROR(words.result);
  RETURN_IF_ERROR(flag.result);
  while (__atomic_load_n(flag.data, __ATOMIC_ACQUIRE) == 0) {
    RETURN_IF_ERROR(ForAll(execution, count, [&](std::size_t i) { ++words.data[i]; }));
    if (execution.aborted()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    Sleep(20'000);  // yield the CPU
  }
  return CUDA_SUCCESS;
}

CUresult CopyKernel(Execution& execution, const Arguments& arguments) {
  const auto count = arguments.Get<std::size_t>(2);
  const Words<unsigned> to(execution, arguments.Get<CUdeviceptr>(0), count, true);
  const Words<unsigned> from(execution, arguments.Get<CUdeviceptr>(1), count, false);
  RETURN_IF_ERROR(to.result);
  RETURN_IF_ERROR(from.result);
  return ForAll(execution, count, [&](std::size_t i) { to.data[i] = from.data[i]; });
}

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

std::uint64_t Reduce(unsigned __int128 value) {
  const std::uint64_t folded =
      (static_cast<std::uint64_t>(value) & kPrime) + static_cast<std::uint64_t>(value >> 61);
  return folded >= kPrime ? (folded & kPrime) + (folded >> 61) : folded;
}

std::uint64_t Multiply(std::uint64_t a, std::uint64_t b) {
  return Reduce(static_cast<unsigned __int128>(a) * b) % kPrime;
}

// A hash of the kernel of fingerprints of libreveza.so.
struct PieceHash {
  PieceHash(const Arguments& arguments, std::size_t first)
      : k(arguments.Get<std::uint64_t>(first + 1)),
        k_grid(arguments.Get<std::uint64_t>(first + 3)) {
    const auto a = arguments.Get<std::uint64_t>(first);
    for (std::size_t i = 1; i < 8; ++i) powers[i] = Multiply(powers[i - 1], a);
  }

  void AddGroup(const unsigned* words) {
    unsigned __int128 group = static_cast<unsigned __int128>(row) * k;
    for (std::size_t i = 0; i < 8; ++i) {
      group += static_cast<unsigned __int128>(words[i]) * powers[i];
    }
    row = Reduce(group);
  }

  void EndRow() {
    sum = (Multiply(sum, k_grid) + row) % kPrime;
    row = 0;
  }

  std::uint64_t powers[8] = {1};
  std::uint64_t k;
  std::uint64_t k_grid;
  std::uint64_t row = 0;
  std::uint64_t sum = 0;
};

constexpr std::size_t kFingerprintBlocks = 256;  // for each piece
constexpr std::size_t kMaxPieces = 32;           // of a launch; unused ones have no groups

struct Pieces {
  struct {
    CUdeviceptr address;
    std::uint64_t groups;
  } of[kMaxPieces];
};

CUresult FingerprintPiece(Execution& execution, const Arguments& arguments, std::size_t index) {
  constexpr std::size_t kRow = kFingerprintBlocks * 256;  // groups: one for each thread
  const auto [address, groups] = arguments.Get<Pieces>(0).of[index];
  const Words<unsigned> words(execution, address, 8 * groups, false);
  RETURN_IF_ERROR(words.result);
  const std::size_t sums = 2 * kFingerprintBlocks;
  const Words<std::uint64_t> out(
      execution, arguments.Get<CUdeviceptr>(9) + index * sums * sizeof(std::uint64_t), sums, true);
  RETURN_IF_ERROR(out.result);
  PieceHash first(arguments, 1);
  PieceHash second(arguments, 5);
  for (std::size_t begin = 0; begin < groups; begin += kRow) {
    if (execution.aborted()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (std::size_t g = std::min<std::size_t>(begin + kRow, groups); g-- > begin;) {
      first.AddGroup(words.data + 8 * g);
      second.AddGroup(words.data + 8 * g);
    }
    first.EndRow();
    second.EndRow();
  }
  std::fill_n(out.data, sums, 0);
  out.data[0] = first.sum;
  out.data[1] = second.sum;
  return CUDA_SUCCESS;
}

CUresult Fingerprints(Execution& execution, const Arguments& arguments) {
  const auto pieces = arguments.Get<Pieces>(0);
  for (std::size_t i = 0; i < kMaxPieces && pieces.of[i].groups != 0; ++i) {
    RETURN_IF_ERROR(FingerprintPiece(execution, arguments, i));
  }
  return CUDA_SUCCESS;
}

}  // namespace

std::vector<std::size_t> Kernel::Offsets() const {
  std::vector<std::size_t> offsets;
  std::size_t at = 0;
  for (const std::size_t size : parameter_sizes) {
    at = (at + size - 1) / size * size;  // size equals alignment for all types
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
      {"reveza_fill", {8, 8, 4}, ChangeWords<Fill>},
      {"reveza_add", {8, 8, 4}, ChangeWords<Add>},
      {"reveza_step", {8, 8, 4}, ChangeWords<Step>},
      {"reveza_verify", {8, 8, 4, 8}, Verify},
      {"reveza_hash", {8, 8, 8}, Hash},
      {"reveza_spin", {8}, Spin},
      {"reveza_watch", {8, 8, 8}, Watch},
      {"reveza_write_until", {8, 8, 8}, WriteUntil},
      {"reveza_copy", {8, 8, 8}, CopyKernel},
      {"reveza_fingerprint", {sizeof(Pieces), 8, 8, 8, 8, 8, 8, 8, 8, 8}, Fingerprints},
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

// Measures the upper bound of a handover: how fast memory moves from one process to another on a
// full GPU with plain loops. The giver copies a piece out, unmaps and releases it; the taker
// creates, maps and fills a piece as soon as the driver has free memory. With --made 1 the memory
// of both is there from the beginning to the end, so that only copies are measured.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <thread>
#include <vector>

#include "bench/limits/host_arena.h"
#include "reveza/cli/demo_worker/client.h"

namespace reveza::bench {
namespace {

using clients::Die;
using clients::Options;
using clients::SecondsNow;
using clients::Session;

// Shared by both processes. CLOCK_MONOTONIC is the same in both.
struct Board {
  std::atomic<std::uint64_t> released{0};  // pieces that the giver has released
  std::atomic<int> ready{0};               // processes that are ready to start
  std::atomic<bool> go{false};
  std::atomic<bool> failed{false};
  std::atomic<double> begin{0}, out_done{0}, in_done{0}, first_out{0}, first_in{0};
  std::atomic<std::uint64_t> refused{0};  // failed creations that were retried
};

struct Plan {
  std::uint64_t bytes, piece;
  bool full, made;
  std::uint64_t count() const { return (bytes + piece - 1) / piece; }
  // The last piece may be smaller.
  std::uint64_t SizeOf(std::uint64_t i) const { return std::min(piece, bytes - i * piece); }
};

// Physical memory in pieces behind one address range.
class Pieces {
 public:
  Pieces(const Session& session, const Plan& plan)
      : driver_(session.driver()), plan_(plan), handles_(plan.count()) {
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties_.location.id = session.device();
    REVEZA_CHECK(driver_, cuMemAddressReserve(&range_, plan.bytes, 0, 0, 0));
  }

  CUdeviceptr At(std::uint64_t i) const { return range_ + i * plan_.piece; }

  // Returns false if the driver has no free memory.
  bool TryMake(std::uint64_t i) {
    const CUresult result = driver_.cuMemCreate(&handles_[i], plan_.SizeOf(i), &properties_, 0);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
    clients::CheckCall(driver_, result, "cuMemCreate", __LINE__);
    REVEZA_CHECK(driver_, cuMemMap(At(i), plan_.SizeOf(i), 0, handles_[i], 0));
    CUmemAccessDesc access{};
    access.location = properties_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    REVEZA_CHECK(driver_, cuMemSetAccess(At(i), plan_.SizeOf(i), &access, 1));
    return true;
  }

  void Release(std::uint64_t i) const {
    REVEZA_CHECK(driver_, cuMemUnmap(At(i), plan_.SizeOf(i)));
    REVEZA_CHECK(driver_, cuMemRelease(handles_[i]));
  }

 private:
  const clients::Driver& driver_;
  const Plan plan_;
  CUmemAllocationProp properties_{};
  CUdeviceptr range_ = 0;
  std::vector<CUmemGenericAllocationHandle> handles_;
};

void WaitFor(const Board& board, const auto& condition) {
  while (!condition()) {
    if (board.failed) Die("the other process failed");
    std::this_thread::yield();
  }
}

constexpr std::uint32_t kGiven = 0x07070707;
constexpr std::uint32_t kTaken = 0x11111111;  // fill pattern of the taker's HostArena

// Leaves less than one piece free, so that the taker depends on the giver.
CUdeviceptr FillCard(const Session& session, std::uint64_t leave) {
  std::size_t free = 0, total = 0;
  REVEZA_CHECK(session.driver(), cuMemGetInfo(&free, &total));
  if (free <= leave + (4 << 20)) return 0;
  return session.Allocate((free - leave) >> 21 << 21);
}

void Give(const Options& options, const Plan& plan, Board* board) {
  const Session session(options);
  const clients::Driver& driver = session.driver();
  const HostArena arena(driver, plan.bytes);
  Pieces pieces(session, plan);
  CUstream stream = nullptr;
  REVEZA_CHECK(driver, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::vector<CUevent> copied(plan.count());
  for (std::uint64_t i = 0; i < plan.count(); ++i) {
    REVEZA_CHECK(driver, cuEventCreate(&copied[i], CU_EVENT_DISABLE_TIMING));
    if (!pieces.TryMake(i)) Die("the card is too small for the giver's memory");
    session.Fill(pieces.At(i), plan.SizeOf(i), kGiven);
  }
  session.Synchronize();
  WaitFor(*board, [&] { return board->ready == 1; });
  const CUdeviceptr ballast =
      plan.full ? FillCard(session, std::max<std::uint64_t>(plan.piece, options.Extra("leave")))
                : 0;
  board->begin = SecondsNow();
  board->go = true;
  for (std::uint64_t i = 0; i < plan.count(); ++i) {
    REVEZA_CHECK(driver, cuMemcpyDtoHAsync(arena.data() + i * plan.piece, pieces.At(i),
                                           plan.SizeOf(i), stream));
    REVEZA_CHECK(driver, cuEventRecord(copied[i], stream));
  }
  for (std::uint64_t i = 0; i < plan.count(); ++i) {
    REVEZA_CHECK(driver, cuEventSynchronize(copied[i]));
    if (!plan.made) pieces.Release(i);
    board->released++;
    if (i == 0) board->first_out = SecondsNow();
  }
  board->out_done = SecondsNow();
  const auto* words = reinterpret_cast<const std::uint32_t*>(arena.data());
  for (std::uint64_t i = 0; i < plan.bytes / 4; i += 1024) {
    if (words[i] != kGiven) Die("what came out is not what was in the card");
  }
  WaitFor(*board, [&] { return board->in_done != 0; });
  if (ballast != 0) session.Free(ballast);
}

void Take(const Options& options, const Plan& plan, Board* board) {
  const Session session(options);
  const clients::Driver& driver = session.driver();
  const HostArena arena(driver, plan.bytes);
  Pieces pieces(session, plan);
  CUstream stream = nullptr;
  REVEZA_CHECK(driver, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (std::uint64_t i = 0; i < plan.count() && plan.made; ++i) {
    if (!pieces.TryMake(i)) Die("the card is too small for the memory of both");
  }
  board->ready++;
  WaitFor(*board, [&] { return board->go.load(); });
  for (std::uint64_t i = 0; i < plan.count(); ++i) {
    WaitFor(*board, [&] { return board->released > i; });
    while (!plan.made && !pieces.TryMake(i)) {
      board->refused++;
      std::this_thread::yield();
    }
    REVEZA_CHECK(driver, cuMemcpyHtoDAsync(pieces.At(i), arena.data() + i * plan.piece,
                                           plan.SizeOf(i), stream));
    if (i == 0) board->first_in = SecondsNow();
  }
  REVEZA_CHECK(driver, cuStreamSynchronize(stream));
  const double done = SecondsNow();
  for (std::uint64_t i = 0; i < plan.count(); ++i) {
    if (session.Mismatches(pieces.At(i), plan.SizeOf(i), kTaken) != 0) {
      Die("what is in the card is not what was brought in");
    }
    pieces.Release(i);
  }
  board->in_done = done;
}

int Main(const Options& options) {
  const std::uint64_t piece = options.Extra("piece");
  const bool made = options.Extra("made") != 0;
  const Plan plan{options.bytes, piece, options.Extra("full") != 0 && !made, made};
  void* memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (options.bytes == 0 || piece == 0 || memory == MAP_FAILED) {
    Die("--bytes and --piece must be 1 or more");
  }
  auto* board = new (memory) Board;
  const auto start = [&](void (*part)(const Options&, const Plan&, Board*)) {
    const pid_t child = fork();
    if (child == 0) {
      part(options, plan, board);
      _exit(0);
    }
    return child;
  };
  start(Give);
  start(Take);
  bool failed = false;
  for (int status = 0, i = 0; i < 2; ++i) {
    if (wait(&status) < 0 || status != 0) board->failed = failed = true;
  }
  if (failed) return 1;
  const double begin = board->begin, in = board->in_done - begin, out = board->out_done - begin;
  const auto gigabytes = static_cast<double>(plan.bytes) / 1e9;
  std::printf(
      "{\"name\":\"%s\",\"bytes\":%llu,\"piece\":%llu,\"full\":%d,\"made\":%d,\"out_s\":%.4f,\"in_"
      "s\":%.4f,"
      "\"first_out_ms\":%.3f,\"first_in_ms\":%.3f,\"both_gb_s\":%.2f,\"refused\":%llu}\n",
      options.name.c_str(), static_cast<unsigned long long>(plan.bytes),
      static_cast<unsigned long long>(piece), plan.full, plan.made, out, in,
      (board->first_out - begin) * 1e3, (board->first_in - begin) * 1e3, 2 * gigabytes / in,
      static_cast<unsigned long long>(board->refused));
  return 0;
}

}  // namespace
}  // namespace reveza::bench

int main(int argc, char** argv) {
  return reveza::bench::Main(reveza::clients::OptionsOrExit(
      argc, argv, "handover_limit",
      {{"piece", 64 << 20}, {"full", 1}, {"made", 0}, {"leave", 400ull << 20}}));
}

// Random programs. A rough model of which slots are in use makes most operations effective.
#include <algorithm>
#include <random>

#include "tests/random_programs/program.h"

namespace reveza::random_programs {
namespace {

struct Weight {
  Kind kind;
  int weight;
};

constexpr Weight kWeights[] = {
    {Kind::kRetainPrimary, 1}, {Kind::kReleasePrimary, 1}, {Kind::kResetPrimary, 1},
    {Kind::kCreateContext, 3}, {Kind::kDestroyContext, 2}, {Kind::kUseContext, 12},
    {Kind::kEnablePeer, 3},    {Kind::kDisablePeer, 1},    {Kind::kCreateStream, 10},
    {Kind::kDestroyStream, 4}, {Kind::kSyncStream, 6},     {Kind::kSyncContext, 4},
    {Kind::kCreateEvent, 4},   {Kind::kDestroyEvent, 2},   {Kind::kRecordEvent, 8},
    {Kind::kWaitEvent, 8},     {Kind::kSyncEvent, 3},      {Kind::kAlloc, 34},
    {Kind::kAllocHost, 6},     {Kind::kAllocManaged, 2},   {Kind::kAllocAsync, 8},
    {Kind::kCreateHandle, 12}, {Kind::kExport, 4},         {Kind::kRetainHandle, 3},
    {Kind::kMoveMapping, 5},   {Kind::kShareAccess, 2},    {Kind::kFree, 34},
    {Kind::kFreeAsync, 6},     {Kind::kQuery, 6},          {Kind::kMemoryInfo, 3},
    {Kind::kBadCall, 4},       {Kind::kMemset, 40},        {Kind::kFill, 20},
    {Kind::kAdd, 24},          {Kind::kStep, 24},          {Kind::kCopy, 24},
    {Kind::kCopyKernel, 12},   {Kind::kSpin, 14},          {Kind::kHostCall, 8},
    {Kind::kHold, 3},          {Kind::kRelease, 3},        {Kind::kBeginCapture, 10},
    {Kind::kForkCapture, 5},   {Kind::kEndCapture, 10},    {Kind::kLaunchGraph, 16},
    {Kind::kDestroyGraph, 2},  {Kind::kCheck, 5},          {Kind::kForkProcess, 1},
};

class Generator {
 public:
  Generator(std::uint64_t seed, int devices) : random_(seed) {
    program_.devices = devices;
    program_.threads = Below(2) == 0 ? 1 : 2 + Below(kMaxThreads - 1);
    program_.serial = program_.threads == 1 || Below(2) == 0;
    program_.resolve = Below(4) == 0 ? static_cast<Resolve>(1 + Below(2)) : Resolve::kProc;
  }

  Program Run(int operations) {
    for (int thread = 0; thread < (program_.serial ? 1 : program_.threads); ++thread) {
      for (int stream = 0; stream < 3; ++stream) {
        Add(thread, Kind::kCreateStream, {stream, Below(program_.devices), Below(4)});
      }
      for (int buffer = 0; buffer < 4; ++buffer) {
        Add(thread, Kind::kAlloc, {buffer, Below(program_.devices), Below(8)});
        Add(thread, Kind::kMemset, {buffer, Below(3), Below(256), 0});
      }
      Add(thread, Kind::kAllocHost, {4, 0, 1});
    }
    // Some programs use a few kinds of operations often.
    for (const Weight& one : kWeights) {
      weights_.push_back(one.weight * (Below(8) == 0 ? 8 : 1) * (Below(8) == 0 ? 0 : 1));
    }
    while (static_cast<int>(program_.operations.size()) < operations) AddRandom();
    return std::move(program_);
  }

 private:
  int Below(int bound) {
    return static_cast<int>(random_() % static_cast<std::uint64_t>(std::max(1, bound)));
  }

  void Add(int thread, Kind kind, std::array<int, kMaxArguments> arguments) {
    const auto used = kOperations[static_cast<std::size_t>(kind)].arguments;
    std::fill(arguments.begin() + used, arguments.end(), 0);
    program_.operations.push_back({thread, kind, arguments});
  }

  // Mostly one of the contexts that exist from the start.
  int AnyContext() { return Below(Below(3) == 0 ? kContexts : program_.devices); }
  // Low numbers are more frequent, so that operations meet on the same objects.
  int Low(int bound) { return std::min(Below(bound), Below(bound)); }

  void AddRandom() {
    std::discrete_distribution<std::size_t> pick(weights_.begin(), weights_.end());
    const Kind kind = kWeights[pick(random_)].kind;
    Add(Below(program_.threads), kind, Arguments(kind));
  }

  std::array<int, kMaxArguments> Arguments(Kind kind) {
    switch (kind) {
      case Kind::kRetainPrimary:
      case Kind::kReleasePrimary:
      case Kind::kResetPrimary:
      case Kind::kMemoryInfo:
        return {Below(program_.devices)};
      case Kind::kCreateContext:
        return {program_.devices + Below(kContexts - program_.devices), Below(program_.devices)};
      case Kind::kDestroyContext:
        return {program_.devices + Below(kContexts - program_.devices)};
      case Kind::kUseContext:
      case Kind::kSyncContext:
        return {AnyContext()};
      case Kind::kEnablePeer:
      case Kind::kDisablePeer:
        return {AnyContext(), AnyContext()};
      case Kind::kCreateStream:
        return {Below(kStreams), AnyContext(), Below(4)};
      case Kind::kCreateEvent:
        return {Below(kEvents), AnyContext()};
      case Kind::kDestroyEvent:
      case Kind::kSyncEvent:
        return {Below(kEvents)};
      case Kind::kRecordEvent:
      case Kind::kWaitEvent:
        return {Below(kEvents), Low(kStreams)};
      case Kind::kDestroyGraph:
        return {Below(kGraphs)};
      case Kind::kLaunchGraph:
        return {Below(kGraphs), Low(kStreams)};
      case Kind::kAlloc:
      case Kind::kAllocHost:
      case Kind::kAllocManaged:
        return {Below(kBuffers), AnyContext(), Below(8)};
      case Kind::kAllocAsync:
        return {Below(kBuffers), Low(kStreams), Below(8)};
      case Kind::kCreateHandle:
        return {Below(kBuffers), AnyContext(), Below(8), Below(2)};
      default:
        return WorkArguments(kind);
    }
  }

  std::array<int, kMaxArguments> WorkArguments(Kind kind) {
    switch (kind) {
      case Kind::kExport:
        return {Below(kBuffers), Below(kBuffers)};
      case Kind::kFreeAsync:
        return {Below(kBuffers), Low(kStreams)};
      case Kind::kBadCall:
        return {Below(8), Below(kBuffers)};
      case Kind::kMemset:
        return {Below(kBuffers), Low(kStreams), Below(256), Below(3)};
      case Kind::kFill:
      case Kind::kAdd:
      case Kind::kStep:
        return {Below(kBuffers), Low(kStreams), Below(1000)};
      case Kind::kCopy:
      case Kind::kCopyKernel:
        return {Below(kBuffers), Below(kBuffers), Low(kStreams)};
      case Kind::kSpin:
        return {Low(kStreams), Below(2000)};
      case Kind::kHostCall:
        return {Low(kStreams), Below(1000)};
      case Kind::kBeginCapture:
        // Relaxed captures allow most other calls meanwhile.
        return {Low(kStreams), Below(3) == 0 ? Below(2) : 2};
      case Kind::kForkCapture:
        return {Low(kStreams), Below(kStreams)};
      case Kind::kEndCapture:
        return {Low(kStreams), Below(kGraphs)};
      case Kind::kDestroyStream:
      case Kind::kSyncStream:
      case Kind::kHold:
        return {Low(kStreams)};
      default:
        return {Below(kBuffers)};
    }
  }

  std::mt19937_64 random_;
  Program program_;
  std::vector<int> weights_;
};

}  // namespace

Program Generate(std::uint64_t seed, int devices, int operations) {
  return Generator(seed, devices).Run(operations);
}

}  // namespace reveza::random_programs

// The generated function of every driver call in the table, called once with a double of the driver
// behind it: it reaches exactly its own entry of the driver, through the gate or through its hook.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "interpose/driver_calls.h"
#include "interpose/gate.h"
#include "interpose/testing/notes.h"

namespace reveza::interpose {
namespace {

// What the double saw of its last call.
struct Seen {
  const char* name = "";
  bool inside = false;  // the thread counted as inside the gate
  int calls = 0;
};
Seen seen;

template <std::size_t kLength>
struct Text {
  constexpr Text(const char (&text)[kLength]) { std::copy_n(text, kLength, value); }
  char value[kLength];
};

// One entry of the double, and a call of a function of the same type.
template <Text kName, typename Function>
struct Entry;

template <Text kName, typename... Arguments>
struct Entry<kName, CUresult (*)(Arguments...)> {
  static CUresult Answer(Arguments...) {
    const ThreadSlot* slot = gate_internal::slot;
    seen.name = kName.value;
    seen.inside = slot != nullptr && slot->inside.load(std::memory_order_relaxed) == 1;
    ++seen.calls;
    return CUDA_ERROR_UNKNOWN;
  }
  static CUresult Call(CUresult (*function)(Arguments...)) { return function(Arguments{}...); }
};

#define REVEZA_ENTRY_OF(name) Entry<#name, decltype(&::name)>

class WrappersTest : public ::testing::Test {
 protected:
  WrappersTest() {
    DriverCalls& calls = internal::driver_calls;
#define REVEZA_GATED(name) calls.name = &REVEZA_ENTRY_OF(name)::Answer;
#define REVEZA_HOOKED(name, base) calls.name = &REVEZA_ENTRY_OF(name)::Answer;
#include "interpose/wrapped_calls.inc"
#undef REVEZA_GATED
#undef REVEZA_HOOKED
    internal::driver_found.store(true, std::memory_order_release);
  }

  // Calls a wrapper; the driver's own entry must have been reached, once, and its answer returned.
  template <typename One, typename Function>
  void Call(Function wrapper, const char* name) {
    seen = Seen{};
    testing::NoteHook("");
    EXPECT_EQ(One::Call(wrapper), CUDA_ERROR_UNKNOWN) << name;
    EXPECT_STREQ(seen.name, name);
    EXPECT_EQ(seen.calls, 1) << name;
    const ThreadSlot* slot = gate_internal::slot;
    EXPECT_TRUE(slot == nullptr || slot->inside.load() == 0) << name << " stays inside the gate";
  }
};

TEST_F(WrappersTest, GatedCallsAreInsideTheGateWhileTheDriverWorks) {
  int count = 0;
#define REVEZA_GATED(name)                        \
  Call<REVEZA_ENTRY_OF(name)>(&::name, #name);    \
  EXPECT_TRUE(seen.inside) << #name;              \
  EXPECT_STREQ(testing::LastHook(), "") << #name; \
  ++count;
#define REVEZA_HOOKED(name, base)
#include "interpose/wrapped_calls.inc"
#undef REVEZA_GATED
#undef REVEZA_HOOKED
  EXPECT_GT(count, 100);
}

TEST_F(WrappersTest, HookedCallsGoThroughTheirHook) {
  int count = 0;
#define REVEZA_GATED(name)
#define REVEZA_HOOKED(name, base)                    \
  Call<REVEZA_ENTRY_OF(name)>(&::name, #name);       \
  EXPECT_STREQ(testing::LastHook(), #base) << #name; \
  ++count;
#include "interpose/wrapped_calls.inc"
#undef REVEZA_GATED
#undef REVEZA_HOOKED
  EXPECT_GT(count, 50);
}

// ---- what may pass, whatever the table says ----

template <typename Function>
constexpr bool kTakesStream = false;
template <typename... Arguments>
constexpr bool kTakesStream<CUresult (*)(Arguments...)> =
    (std::is_same_v<Arguments, CUstream> || ...);

struct Call {
  std::string base;
  bool takes_stream;
};

// The calls of which nothing is wrapped. (Of some the old versions, with 32-bit addresses, pass.)
std::vector<Call> PassedCalls() {
  std::set<std::string> wrapped;
  std::vector<Call> passed;
#define REVEZA_WRAPPED(name, base, per_thread) wrapped.insert(#base);
#define REVEZA_PASSED(name, base, per_thread) \
  passed.push_back({#base, kTakesStream<decltype(&::name)>});
#define REVEZA_EXTERN(name)
#include "interpose/driver_entries.inc"
#undef REVEZA_WRAPPED
#undef REVEZA_PASSED
#undef REVEZA_EXTERN
  std::erase_if(passed, [&](const Call& call) { return wrapped.contains(call.base); });
  return passed;
}

TEST(TableTest, WhatTakesAStreamPassesOnlyIfItSubmitsNothing) {
  // They ask, wait or arrange; an event touches no memory of the program.
  const std::set<std::string> submit_nothing = {
      "cuEventRecord",          "cuEventRecordWithFlags",
      "cuStreamCopyAttributes", "cuStreamGetAttribute",
      "cuStreamGetCaptureInfo", "cuStreamGetCtx",
      "cuStreamGetDevice",      "cuStreamGetFlags",
      "cuStreamGetGreenCtx",    "cuStreamGetId",
      "cuStreamGetPriority",    "cuStreamIsCapturing",
      "cuStreamQuery",          "cuStreamSetAttribute",
      "cuStreamSynchronize",    "cuStreamUpdateCaptureDependencies",
      "cuStreamWaitEvent"};
  std::set<std::string> passed;
  for (const Call& call : PassedCalls()) {
    if (call.takes_stream) passed.insert(call.base);
  }
  EXPECT_EQ(passed, submit_nothing);
}

TEST(TableTest, NothingThatCopiesFillsLaunchesOrAllocatesPasses) {
  const std::set<std::string> host_memory = {"cuMemAllocHost", "cuMemFreeHost"};
  std::set<std::string> passed;
  for (const Call& call : PassedCalls()) {
    for (const char* verb : {"cuMemcpy", "cuMemset", "cuLaunch", "cuGraphLaunch", "cuMemAlloc",
                             "cuMemFree", "cuMemCreate", "cuMemMap", "cuArrayCreate"}) {
      if (call.base.starts_with(verb)) passed.insert(call.base);
    }
  }
  EXPECT_EQ(passed, host_memory);
}

}  // namespace
}  // namespace reveza::interpose

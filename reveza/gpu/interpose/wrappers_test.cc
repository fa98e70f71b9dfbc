// Calls the generated wrapper of every driver call in the table once, on a fake driver: each must
// reach exactly its own entry of the driver, through the gate or through its hook.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/testing/notes.h"

namespace reveza::interpose {
namespace wrappers_test {

// The last call received by the fake driver.
struct LastCall {
  const char* name = "";
  bool inside = false;   // the thread counted as inside the gate
  bool guarded = false;  // the thread held a guard of the contexts
  int calls = 0;
};
LastCall last_call;

template <std::size_t kLength>
struct Text {
  constexpr Text(const char (&text)[kLength]) { std::copy_n(text, kLength, value); }
  char value[kLength];
};

// One entry of the fake driver, and a call of a function of the same type.
template <Text kName, typename Function>
struct Entry;

template <Text kName, typename... Arguments>
struct Entry<kName, CUresult (*)(Arguments...)> {
  static CUresult Answer(Arguments...) {
    const ThreadSlot* slot = gate_internal::slot;
    last_call.name = kName.value;
    last_call.inside = slot != nullptr && slot->inside.load(std::memory_order_relaxed) == 1;
    last_call.guarded = slot != nullptr && slot->guarded.load(std::memory_order_relaxed) == 1;
    ++last_call.calls;
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
#define REVEZA_GUARDED(name) calls.name = &REVEZA_ENTRY_OF(name)::Answer;
#include "generated/interpose/wrapped_calls.inc"
#undef REVEZA_GATED
#undef REVEZA_HOOKED
#undef REVEZA_GUARDED
    internal::driver_found.store(true, std::memory_order_release);
  }

  // Calls a wrapper and checks that it reached its driver entry exactly once and returned its
  // result.
  template <typename One, typename Function>
  void Call(Function wrapper, const char* name) {
    last_call = LastCall{};
    testing::NoteHook("");
    EXPECT_EQ(One::Call(wrapper), CUDA_ERROR_UNKNOWN) << name;
    EXPECT_STREQ(last_call.name, name);
    EXPECT_EQ(last_call.calls, 1) << name;
    const ThreadSlot* slot = gate_internal::slot;
    EXPECT_TRUE(slot == nullptr || slot->inside.load() == 0) << name << " stays inside the gate";
    EXPECT_TRUE(slot == nullptr || slot->guarded.load() == 0) << name << " keeps its guard";
  }
};

TEST_F(WrappersTest, GatedCallsHoldTheGateDuringTheDriverCall) {
  int count = 0;
#define REVEZA_GATED(name)                        \
  Call<REVEZA_ENTRY_OF(name)>(&::name, #name);    \
  EXPECT_TRUE(last_call.inside) << #name;         \
  EXPECT_STREQ(testing::LastHook(), "") << #name; \
  ++count;
#define REVEZA_HOOKED(name, base)
#define REVEZA_GUARDED(name)
#include "generated/interpose/wrapped_calls.inc"
#undef REVEZA_GATED
#undef REVEZA_HOOKED
#undef REVEZA_GUARDED
  EXPECT_GT(count, 100);
}

TEST_F(WrappersTest, HookedCallsUseTheirHook) {
  int count = 0;
#define REVEZA_GATED(name)
#define REVEZA_GUARDED(name)
#define REVEZA_HOOKED(name, base)                    \
  Call<REVEZA_ENTRY_OF(name)>(&::name, #name);       \
  EXPECT_STREQ(testing::LastHook(), #base) << #name; \
  EXPECT_TRUE(last_call.guarded) << #name;           \
  ++count;
#include "generated/interpose/wrapped_calls.inc"
#undef REVEZA_GATED
#undef REVEZA_HOOKED
#undef REVEZA_GUARDED
  EXPECT_GT(count, 50);
}

TEST_F(WrappersTest, PassedCallsHoldTheGuardButNotTheGate) {
  int count = 0;
#define REVEZA_GATED(name)
#define REVEZA_HOOKED(name, base)
#define REVEZA_GUARDED(name)                      \
  Call<REVEZA_ENTRY_OF(name)>(&::name, #name);    \
  EXPECT_FALSE(last_call.inside) << #name;        \
  EXPECT_TRUE(last_call.guarded) << #name;        \
  EXPECT_STREQ(testing::LastHook(), "") << #name; \
  ++count;
#include "generated/interpose/wrapped_calls.inc"
#undef REVEZA_GATED
#undef REVEZA_HOOKED
#undef REVEZA_GUARDED
  EXPECT_GT(count, 250);
}

// ---- calls that may be passed, independently of the table ----

template <typename Function>
constexpr bool kTakesStream = false;
template <typename... Arguments>
constexpr bool kTakesStream<CUresult (*)(Arguments...)> =
    (std::is_same_v<Arguments, CUstream> || ...);

struct Call {
  std::string base;
  bool takes_stream;
};

// Returns the calls without any wrapped version. (Old 32-bit versions of wrapped calls are passed.)
std::vector<Call> PassedCalls() {
  std::set<std::string> wrapped;
  std::vector<Call> passed;
#define REVEZA_WRAPPED(name, base, per_thread) wrapped.insert(#base);
#define REVEZA_PASSED(name, base, per_thread) \
  passed.push_back({#base, kTakesStream<decltype(&::name)>});
#define REVEZA_GUARDED(name, base, per_thread) REVEZA_PASSED(name, base, per_thread)
#define REVEZA_EXTERN(name)
#define REVEZA_PASSED_FAMILY(prefix)
#include "generated/interpose/driver_entries.inc"
#undef REVEZA_WRAPPED
#undef REVEZA_GUARDED
#undef REVEZA_PASSED
#undef REVEZA_EXTERN
#undef REVEZA_PASSED_FAMILY
  std::erase_if(passed, [&](const Call& call) { return wrapped.contains(call.base); });
  return passed;
}

TEST(TableTest, PassedStreamCallsSubmitNothing) {
  // Queries, waits and settings; events do not touch the program's memory.
  const std::set<std::string> submit_nothing = {
      "cuEventRecord",          "cuEventRecordWithFlags",
      "cuStreamCopyAttributes", "cuStreamGetAttribute",
      "cuStreamGetCaptureInfo", "cuStreamGetCtx",
      "cuStreamGetDevResource", "cuStreamGetDevice",
      "cuStreamGetFlags",       "cuStreamGetGreenCtx",
      "cuStreamGetId",          "cuStreamGetPriority",
      "cuStreamIsCapturing",    "cuStreamQuery",
      "cuStreamSetAttribute",   "cuStreamUpdateCaptureDependencies",
      "cuStreamWaitEvent"};
  std::set<std::string> passed;
  for (const Call& call : PassedCalls()) {
    if (call.takes_stream) passed.insert(call.base);
  }
  EXPECT_EQ(passed, submit_nothing);
}

// These were seen to work while the process is locked for a checkpoint, or need no context; the
// rest of those that a 64-bit program can call is guarded.
TEST(TableTest, OnlyCallsThatNeedNoContextAreDirect) {
  std::set<std::string> guarded;
  std::set<std::string> direct;
#define REVEZA_WRAPPED(name, base, per_thread) guarded.insert(#base);
#define REVEZA_GUARDED(name, base, per_thread) guarded.insert(#base);
#define REVEZA_PASSED(name, base, per_thread) direct.insert(#base);
#define REVEZA_EXTERN(name)
#define REVEZA_PASSED_FAMILY(prefix)
#include "generated/interpose/driver_entries.inc"
#undef REVEZA_WRAPPED
#undef REVEZA_GUARDED
#undef REVEZA_PASSED
#undef REVEZA_EXTERN
#undef REVEZA_PASSED_FAMILY
  std::erase_if(direct, [&](const std::string& base) {
    return guarded.contains(base) || base.starts_with("cuCheckpoint");
  });
  const std::set<std::string> expected = {
      "cuCtxGetCurrent", "cuCtxSetCurrent",  "cuDriverGetVersion",
      "cuGetErrorName",  "cuGetErrorString", "cuGetExportTable",
      "cuInit"};
  EXPECT_EQ(direct, expected);
}

TEST(TableTest, CallsThatUseDeviceMemoryAreNotPassed) {
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

}  // namespace wrappers_test
}  // namespace reveza::interpose

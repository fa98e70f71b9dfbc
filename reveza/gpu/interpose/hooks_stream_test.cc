// Hooks of captures: same results with and without the library, and no drain invalidates a capture.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace hooks_stream_test {

using HooksStreamTest = DifferentialTest;

TEST_F(HooksStreamTest, CapturesFollowTheDriversRules) {
  Compare([](Pass& pass) {
    CUstream stream = nullptr;
    CUstream other = nullptr;
    EXPECT_EQ(pass.cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(pass.cuda.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    const auto begin = [&](const char* what, CUstream which) {
      pass.Note(what, pass.cuda.cuStreamBeginCapture_v2(which, CU_STREAM_CAPTURE_MODE_RELAXED));
    };
    CUgraph graph = nullptr;
    pass.Note("the end of none", pass.cuda.cuStreamEndCapture(stream, &graph));
    begin("of the legacy stream", nullptr);
    begin("begin", stream);
    begin("begin twice", stream);
    CUstreamCaptureStatus status{};
    pass.Note("captures", pass.cuda.cuStreamIsCapturing(stream, &status));
    pass.Note("captures", status);
    pass.Note("the end of another", pass.cuda.cuStreamEndCapture(other, &graph));
    pass.Note("nowhere to write", pass.cuda.cuStreamEndCapture(stream, nullptr));
    begin("again", stream);
    pass.Note("end", pass.cuda.cuStreamEndCapture(stream, &graph));
    if (graph != nullptr) pass.Note("the graph", pass.cuda.cuGraphDestroy(graph));
    pass.Note("destroy", pass.cuda.cuStreamDestroy_v2(stream));
    pass.Note("destroy", pass.cuda.cuStreamDestroy_v2(other));
  });
}

TEST_F(HooksStreamTest, CapturedGraphRunsAfterSwapping) {
  Compare([](Pass& pass) {
    const CUdeviceptr memory = pass.Allocate(4 * kMiB);
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    EXPECT_EQ(pass.cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    pass.Note("begin", pass.cuda.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    pass.Note("captured", pass.cuda.cuMemsetD32Async(memory, 9, kMiB, stream));
    pass.Note("end", pass.cuda.cuStreamEndCapture(stream, &graph));
    pass.Note("instantiate", pass.cuda.cuGraphInstantiateWithFlags(&ready, graph, 0));
    pass.Fill(memory, 1, kMiB);
    pass.Note("filled", pass.cuda.cuCtxSynchronize());  // the stream is not ordered after it
    pass.SwapOut();
    pass.Note("launch", pass.cuda.cuGraphLaunch(ready, stream));
    pass.Note("synchronise", pass.cuda.cuStreamSynchronize(stream));
    pass.NoteWord("the last word", memory + 4 * kMiB - 4);
    EXPECT_EQ(pass.cuda.cuGraphExecDestroy(ready), CUDA_SUCCESS);
    EXPECT_EQ(pass.cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
    EXPECT_EQ(pass.cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    EXPECT_EQ(pass.cuda.cuMemFree_v2(memory), CUDA_SUCCESS);
  });
}

// Returns the number of calls of a fakecuda function; 0 on a real driver.
std::optional<unsigned long long> CallsOf(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  EXPECT_NE(driver, nullptr) << dlerror();
  using Counter = unsigned long long (*)(const char*);
  const auto counter = reinterpret_cast<Counter>(dlsym(driver, "fakecudaCounter"));
  dlclose(driver);  // this program keeps a reference
  if (counter == nullptr) return std::nullopt;
  return counter(name);
}

class HooksStreamDrainTest : public HooksStreamTest {
 protected:
  void SetUp() override {
    HooksStreamTest::SetUp();
    ASSERT_EQ(Through().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void Begin() {
    ASSERT_EQ(Through().cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_SUCCESS);
  }

  CUstream stream_ = nullptr;
};

TEST_F(HooksStreamDrainTest, DrainFailsDuringACapture) {
  Begin();
  EXPECT_EQ(daemon().CloseGate(), wire::DrainFailure::kCapture);
  CUgraph graph = nullptr;
  EXPECT_EQ(Through().cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS)
      << "capture was invalidated";
  EXPECT_FALSE(daemon().CloseGate());
  Through().cuGraphDestroy(graph);
  EXPECT_EQ(Through().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
}

// Pinning on any thread invalidates a capture in the global mode.
TEST_F(HooksStreamDrainTest, PreparingTheArenaKeepsCapturesValid) {
  Bytes before = 0;
  ASSERT_TRUE(daemon().AwaitUsage([&](const wire::Account& usage) {
    before = usage.arena;
    return true;
  }));
  Begin();
  daemon().Send(wire::PrepareArena{before + 8 * kMiB});
  EXPECT_TRUE(
      daemon().AwaitUsage([&](const wire::Account& usage) { return usage.arena > before; }));
  CUgraph graph = nullptr;
  EXPECT_EQ(Through().cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  Through().cuGraphDestroy(graph);
  EXPECT_EQ(Through().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
}

// A capture unknown to the library, as if it began at the worst moment.
TEST_F(HooksStreamDrainTest, QueueBoundKeepsCapturesValid) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&memory, kMiB), CUDA_SUCCESS);
  daemon().Send(wire::Contention{1, 60'000'000});
  while (gate_internal::state.load() != gate_internal::kBounded) usleep(1000);
  ASSERT_EQ(Direct().cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  const auto asked = CallsOf("cuEventQuery");
  std::thread([&] {
    ASSERT_EQ(Direct().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    CUstream stream = nullptr;
    ASSERT_EQ(Direct().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(Through().cuMemsetD32Async(memory, 9, kMiB / 4, stream), CUDA_SUCCESS);
    }
    EXPECT_EQ(Direct().cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  }).join();
  EXPECT_TRUE(!asked || CallsOf("cuEventQuery") > asked) << "the queue bound was never checked";
  CUgraph graph = nullptr;
  EXPECT_EQ(Direct().cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  Direct().cuGraphDestroy(graph);
  daemon().Send(wire::Contention{0, 0});
  EXPECT_EQ(Through().cuMemFree_v2(memory), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
}

TEST_F(HooksStreamDrainTest, FailedCaptureDoesNotBlockDrain) {
  EXPECT_NE(Through().cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  EXPECT_FALSE(client().captures().Any());
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(Through().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
}

TEST_F(HooksStreamDrainTest, DestroyedStreamDoesNotBlockDrain) {
  Begin();
  EXPECT_EQ(Through().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
  EXPECT_FALSE(client().captures().Any());
  EXPECT_FALSE(daemon().CloseGate());
}

}  // namespace hooks_stream_test
}  // namespace reveza::interpose::testing

// Tests of full queues and of stream ordering.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "fakecuda/driver_fixture.h"

namespace fakecuda {
namespace streams_test {

constexpr int kMaxQueueLength = 1024;  // as in executor.h

// Stream work that blocks until Open().
class Barrier {
 public:
  static void Wait(void* barrier) {
    auto* self = static_cast<Barrier*>(barrier);
    std::unique_lock lock(self->mutex_);
    self->reached_ = true;
    self->changed_.notify_all();
    self->changed_.wait(lock, [&] { return self->open_; });
  }
  void AwaitReached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  bool open_ = false;
};

class StreamsTest : public DriverTest {
 protected:
  CUstream Make() {
    CUstream stream = nullptr;
    EXPECT_EQ(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return stream;
  }
};

TEST_F(StreamsTest, FullQueueBlocksSubmission) {
  const CUstream stream = Make();
  Barrier barrier;
  ASSERT_EQ(DRIVER(cuLaunchHostFunc)(stream, Barrier::Wait, &barrier), CUDA_SUCCESS);
  barrier.AwaitReached();
  constexpr int kMore = 2 * kMaxQueueLength;
  std::atomic<int> submitted = 0;
  std::atomic<int> done = 0;
  std::thread thread([&] {
    ASSERT_EQ(DRIVER(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
    const auto launch = DRIVER(cuLaunchHostFunc);
    for (int i = 0; i < kMore; ++i, ++submitted) {
      launch(stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &done);
    }
  });
  while (submitted < kMaxQueueLength - 1) std::this_thread::yield();
  // Without blocking, the submission would continue meanwhile.
  for (int i = 0; i < 1000; ++i) std::this_thread::sleep_for(std::chrono::microseconds(50));
  EXPECT_LE(submitted, kMaxQueueLength);
  EXPECT_EQ(done, 0);
  barrier.Open();
  thread.join();
  EXPECT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(done, kMore);
}

struct Runner {
  std::vector<int>* order;
  int number;
  static void Run(void* runner) {
    const auto* self = static_cast<Runner*>(runner);
    self->order->push_back(self->number);  // host functions run sequentially
  }
};

TEST_F(StreamsTest, StreamsRunInRandomOrder) {
  constexpr int kStreams = 6;
  std::vector<CUstream> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(Make());
  const CUstream held = Make();
  std::set<std::vector<int>> orders;
  for (int round = 0; round < 20; ++round) {
    Barrier barrier;
    std::vector<int> order;
    std::vector<Runner> runners;
    for (int i = 0; i < kStreams; ++i) runners.push_back({&order, i});
    ASSERT_EQ(DRIVER(cuLaunchHostFunc)(held, Barrier::Wait, &barrier), CUDA_SUCCESS);
    barrier.AwaitReached();
    for (int i = 0; i < kStreams; ++i) {
      ASSERT_EQ(DRIVER(cuLaunchHostFunc)(streams[i], Runner::Run, &runners[i]), CUDA_SUCCESS);
    }
    barrier.Open();
    ASSERT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(order.size(), size_t{kStreams});
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1u);
}

TEST_F(StreamsTest, EventsOrderStreams) {
  const CUstream first = Make();
  const CUstream second = Make();
  CUevent event = nullptr;
  ASSERT_EQ(DRIVER(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> order;
    Runner one = {&order, 1}, two = {&order, 2};
    ASSERT_EQ(DRIVER(cuLaunchHostFunc)(first, Runner::Run, &one), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventRecord)(event, first), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamWaitEvent)(second, event, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuLaunchHostFunc)(second, Runner::Run, &two), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamSynchronize)(second), CUDA_SUCCESS);
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
  }
}

// An asynchronous copy reads its source when it runs, not when it is submitted.
TEST_F(StreamsTest, AsynchronousCopiesReadAtExecution) {
  const CUstream stream = Make();
  CUdeviceptr memory = 0;
  void* pinned = nullptr;
  ASSERT_EQ(DRIVER(cuMemAlloc)(&memory, 4096), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemHostAlloc)(&pinned, 4096, 0), CUDA_SUCCESS);
  auto* word = static_cast<unsigned*>(pinned);
  *word = 1;
  Barrier barrier;
  ASSERT_EQ(DRIVER(cuLaunchHostFunc)(stream, Barrier::Wait, &barrier), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemcpyHtoDAsync)(memory, pinned, 4, stream), CUDA_SUCCESS);
  *word = 2;
  barrier.Open();
  ASSERT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(ReadWord(memory), 2u);
  EXPECT_EQ(DRIVER(cuMemFreeHost)(pinned), CUDA_SUCCESS);
}

}  // namespace streams_test
}  // namespace fakecuda

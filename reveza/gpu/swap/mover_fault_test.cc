#include <chrono>
#include <thread>
#include <vector>

#include "reveza/gpu/swap/testing_mover.h"

namespace reveza::swap {
namespace mover_fault_test {

using testing::kBudget;
using testing::MoverTest;

TEST_F(MoverTest, FailedReleaseIsRetriedOnce) {
  Filled(64 * kMiB, 1);
  for (const char* call : {"Unmap", "Release"}) {
    gpu_.FailCall(call, 1, CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(Evict(kBudget).failure, EvictFailure::kNone) << call;
    EXPECT_EQ(SwapInWith(64 * kMiB), SwapInState::kDone) << call;
  }
}

// The piece stays resident and the program keeps writing to it, which invalidates its host copy.
TEST_F(MoverTest, UnreleasedPieceIsCopiedAgain) {
  const CUdeviceptr address = Filled(64 * kMiB, 1);
  gpu_.FailCall("Unmap", 1, CUDA_ERROR_UNKNOWN, 2);
  EXPECT_EQ(Evict(kBudget).failure, EvictFailure::kDriver);
  EXPECT_EQ(SwapInWith(0), SwapInState::kDone);
  EXPECT_EQ(gpu_.bytes_in, 0u) << "still resident";
  Fill(address, 64 * kMiB, 2);
  EXPECT_EQ(Evict(kBudget).freed, 64 * kMiB);
  EXPECT_EQ(SwapInWith(64 * kMiB), SwapInState::kDone);
  EXPECT_TRUE(Holds(address, 64 * kMiB, 2));
}

// While the first pieces are reported, other copies are in flight.
TEST_F(MoverTest, FreeWaitsForCopiesInFlight) {
  const CUdeviceptr address = Filled(64 * kMiB, 1);
  Filled(64 * kMiB, 2);
  struct Freer {
    Ledger& ledger;
    CUdeviceptr address;
    std::thread thread{};
    static void Start(void* self, int, Bytes) {
      auto& freer = *static_cast<Freer*>(self);
      if (freer.thread.joinable()) return;
      freer.thread = std::thread(
          [&freer] { EXPECT_EQ(freer.ledger.Free(freer.address).outcome, Outcome::kDone); });
      std::this_thread::sleep_for(
          std::chrono::milliseconds(50));  // gives a premature free time to happen
    }
  } freer{ledger_, address};
  ledger_.SetResidency(Residency::kOut);
  const EvictResult result = mover_.Evict(0, kBudget, Freer::Start, &freer);
  freer.thread.join();
  EXPECT_EQ(result.failure, EvictFailure::kNone);
  EXPECT_EQ(result.copied, 128 * kMiB);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(ledger_.GetUsage(0).swapped, 64 * kMiB);
}

// After a sticky error every call of the context fails and nothing can be swapped in. The gate must
// open nevertheless, so that the program sees the error in its own calls.
TEST_F(MoverTest, LostContextEndsSwapIn) {
  constexpr int kForever = 1'000'000;
  Filled(130 * kMiB, 5);
  Evict(kBudget);
  for (const char* call : {"CopyToDevice", "StreamSynchronize"}) {
    gpu_.FailCall(call, 1, CUDA_ERROR_ECC_UNCORRECTABLE, kForever);
  }
  ledger_.AddCredit(0, mover_.MissingCredit(0));
  SwapInState state = SwapInState::kRetry;
  int steps = 0;
  while (state != SwapInState::kDone && steps < 1000) {
    state = mover_.SwapInStep();
    ++steps;
  }
  EXPECT_EQ(state, SwapInState::kDone);
  EXPECT_GT(steps, 10) << "gave up too early";
  EXPECT_EQ(ledger_.GetUsage(0).swapped, 0u);
  EXPECT_EQ(Evict(kBudget).failure, EvictFailure::kNone);
  EXPECT_EQ(gpu_.in_use(), 0u) << "memory was not released";
}

// A program may reset the device after such an error, and memory of handles survives.
TEST_F(MoverTest, MemoryComesInAgainAfterALostContextHasEnded) {
  const CUmemGenericAllocationHandle handle = Created(4 * kMiB);
  const CUdeviceptr address = Mapped(handle, 4 * kMiB);
  Fill(address, 4 * kMiB, 5);
  Evict(kBudget);
  gpu_.FailCall("StreamSynchronize", 1, CUDA_ERROR_ECC_UNCORRECTABLE, 1'000'000);
  ledger_.AddCredit(0, mover_.MissingCredit(0));
  while (mover_.SwapInStep() != SwapInState::kDone) {
  }
  EXPECT_TRUE(ledger_.HasHostCopies(0));
  gpu_.FailCall("StreamSynchronize", 1, CUDA_SUCCESS);  // no longer
  ledger_.OnContextDestroy(0, gpu_.context(), nullptr);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 4 * kMiB) << "without a context nothing can be copied";
  ledger_.SetResidency(Residency::kOut);
  EXPECT_EQ(mover_.SwapInStep(), SwapInState::kDone);
  EXPECT_TRUE(ledger_.HasHostCopies(0));
  ledger_.SetContext(0, gpu_.context());
  ledger_.SetResidency(Residency::kOut);
  EXPECT_EQ(mover_.SwapInStep(), SwapInState::kDone);
  EXPECT_FALSE(ledger_.HasHostCopies(0));
  EXPECT_TRUE(Holds(address, 4 * kMiB, 5));
  EXPECT_EQ(ledger_.Unmap(address, 4 * kMiB).outcome, Outcome::kDone);
  EXPECT_EQ(ledger_.ReleaseHandle(handle).outcome, Outcome::kDone);
}

TEST_F(MoverTest, WithoutAContextMemoryThatHasNoContentsComesIn) {
  ledger_.SetResidency(Residency::kOut);
  ledger_.Permit(0, 4 * kMiB);
  const CUmemGenericAllocationHandle handle = Created(4 * kMiB);
  Mapped(handle, 4 * kMiB);
  EXPECT_EQ(ledger_.GetUsage(0).swapped, 4 * kMiB);
  ledger_.OnContextDestroy(0, gpu_.context(), nullptr);
  EXPECT_EQ(SwapInWith(4 * kMiB), SwapInState::kDone);
  EXPECT_EQ(gpu_.in_use(), 4 * kMiB);
  EXPECT_EQ(ledger_.GetUsage(0).swapped, 0u);
  EXPECT_EQ(ledger_.GetUsage(0).pinned, 4 * kMiB);
}

// Fails every driver call of a handover once; afterwards contents and accounting are unaffected.
TEST_F(MoverTest, FailureOfAnyCallLosesNothing) {
  const CUdeviceptr address = Filled(130 * kMiB, 11);
  unsigned seed = 11;
  for (const char* call :
       {"CopyToHost", "EventCreate", "EventRecord", "EventSynchronize", "Unmap", "Release",
        "Create", "Map", "SetAccess", "CopyToDevice", "StreamSynchronize"}) {
    for (int nth = 1; nth <= 4; ++nth) {
      Fill(address, 130 * kMiB, ++seed);  // distinct from stale host copies
      gpu_.FailCall(call, nth, CUDA_ERROR_UNKNOWN);
      Evict(kBudget);
      const Bytes missing = mover_.MissingCredit(0);
      ledger_.AddCredit(0, missing);
      SwapInState state = SwapInState::kRetry;
      for (int attempt = 0; attempt < 5 && state != SwapInState::kDone; ++attempt) {
        state = mover_.SwapInStep();
      }
      ASSERT_EQ(state, SwapInState::kDone) << call << " " << nth;
      ASSERT_TRUE(Holds(address, 130 * kMiB, seed)) << call << " " << nth;
      ASSERT_EQ(gpu_.in_use(), 130 * kMiB) << call << " " << nth;
      ASSERT_EQ(ledger_.GetUsage(0).resident, 130 * kMiB) << call << " " << nth;
    }
  }
}

}  // namespace mover_fault_test
}  // namespace reveza::swap

#include "reveza/gpu/swap/placement.h"

#include <gtest/gtest.h>

#include "reveza/gpu/swap/testing_mover.h"

namespace reveza::swap {
namespace placement_test {

constexpr Bytes kPiece = kGranularity;
constexpr Bytes kBudget = 8 * kPiece;

// A GPU of eight pieces, of which each allocation is one. An exchange moves at most four.
class PlacementTest : public testing::MoverTest {
 protected:
  PlacementTest() {
    ledger_.AddDevice(0, gpu_.context(), kBudget, 0);
    ledger_.BackByHost(0, 0);
    gpu_.capacity = kBudget;
  }

  // Allocates and fills `count` pieces, with credit as long as the GPU has room.
  std::vector<CUdeviceptr> Allocate(int count) {
    std::vector<CUdeviceptr> pieces;
    for (int i = 0; i < count; ++i) {
      if (ledger_.GetUsage(0).Need() + kPiece <= kBudget) ledger_.AddCredit(0, kPiece);
      CUdeviceptr address = 0;
      EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), kPiece, &address).outcome, Outcome::kDone);
      Fill(address, kPiece, unsigned(i) + 1);
      pieces.push_back(address);
    }
    return pieces;
  }

  RoundReport Round(std::optional<double> progress = 1.0) { return placement_.Round(0, progress); }
  // Makes rounds in each of which the pieces change, and returns what they did together.
  RoundReport Rounds(int count, const std::vector<CUdeviceptr>& changing, double progress = 1.0) {
    RoundReport sum;
    for (int i = 0; i < count; ++i) {
      for (const CUdeviceptr piece : changing) ++Word(piece, 0);
      const RoundReport one = Round(progress);
      sum.promoted += one.promoted;
      sum.demoted += one.demoted;
      sum.undone += one.undone;
      sum.hot = one.hot;
      sum.full = one.full;
    }
    return sum;
  }
  // Makes rounds until the next exchange.
  RoundReport UntilExchange(const std::vector<CUdeviceptr>& changing, int limit = 20) {
    for (int i = 0; i < limit; ++i) {
      const RoundReport one = Rounds(1, changing);
      if (one.promoted + one.demoted > 0) return one;
    }
    return {};
  }
  Bytes OnHost() const { return ledger_.GetUsage(0).on_host; }

  Placement placement_{gpu_.driver(), ledger_, 4 * kPiece};
};

TEST_F(PlacementTest, WhatChangesIsExchangedForWhatDoesNot) {
  const auto pieces = Allocate(10);
  ASSERT_EQ(OnHost(), 2 * kPiece);
  ASSERT_EQ(gpu_.on_host(), 2 * kPiece);
  const RoundReport report = Rounds(5, {pieces[8], pieces[9]});
  EXPECT_EQ(report.promoted, 2 * kPiece);
  EXPECT_EQ(report.demoted, 2 * kPiece);
  EXPECT_EQ(report.undone, 0u);
  EXPECT_EQ(report.hot, 0u);
  EXPECT_FALSE(report.full);
  EXPECT_EQ(gpu_.on_host(), 2 * kPiece);
  EXPECT_EQ(gpu_.in_use(), kBudget);
  EXPECT_EQ(ledger_.GetUsage(0).resident, kBudget);
  EXPECT_EQ(ledger_.GetUsage(0).spare, 0u);
  for (unsigned i = 0; i < 8; ++i) EXPECT_TRUE(Holds(pieces[i], kPiece, i + 1)) << i;
  EXPECT_EQ(Word(pieces[9], 0), 10u + 5);
  EXPECT_EQ(Word(pieces[9], 4096), 11u);
}

TEST_F(PlacementTest, NothingMovesIfEverythingChanges) {
  const auto pieces = Allocate(10);
  const RoundReport report = Rounds(10, pieces);
  EXPECT_EQ(report.promoted + report.demoted, 0u);
  EXPECT_EQ(report.hot, 2 * kPiece);
  EXPECT_TRUE(report.full);
}

TEST_F(PlacementTest, NothingIsSaidNotToFitBeforeItIsKnown) {
  const auto pieces = Allocate(10);
  const RoundReport report = Rounds(2, {pieces[8], pieces[9]});
  EXPECT_EQ(report.hot, 2 * kPiece);
  EXPECT_FALSE(report.full) << "what is on the GPU was looked at twice";
}

TEST_F(PlacementTest, HotSetThatDoesNotFitIsToldAfterTheExchange) {
  const auto pieces = Allocate(10);
  std::vector<CUdeviceptr> changing(pieces.begin() + 1, pieces.end());
  EXPECT_EQ(Rounds(6, changing).promoted, kPiece);
  const RoundReport report = Rounds(6, changing);
  EXPECT_EQ(report.promoted + report.demoted, 0u);
  EXPECT_EQ(report.hot, kPiece);
  EXPECT_TRUE(report.full);
}

TEST_F(PlacementTest, ExchangeThatMakesItSlowerIsUndoneAndNotRepeatedSoon) {
  const auto pieces = Allocate(10);
  const std::vector<CUdeviceptr> changing = {pieces[8], pieces[9]};
  ASSERT_EQ(UntilExchange(changing).promoted, 2 * kPiece);
  for (const CUdeviceptr piece : changing) ++Word(piece, 0);
  const RoundReport undone = Round(0.5);
  EXPECT_EQ(undone.undone, 4 * kPiece);
  EXPECT_EQ(OnHost(), 2 * kPiece);
  EXPECT_EQ(Rounds(3, changing).promoted, 0u) << "kept for four rounds";
  ASSERT_EQ(UntilExchange(changing).promoted, 2 * kPiece);
  for (const CUdeviceptr piece : changing) ++Word(piece, 0);
  EXPECT_EQ(Round(0.5).undone, 4 * kPiece);
  EXPECT_EQ(Rounds(7, changing).promoted, 0u) << "and then for eight";
  EXPECT_EQ(UntilExchange(changing).promoted, 2 * kPiece);
  for (unsigned i = 0; i < 8; ++i) EXPECT_TRUE(Holds(pieces[i], kPiece, i + 1)) << i;
}

TEST_F(PlacementTest, ALittleSlowerIsNoReason) {
  const auto pieces = Allocate(10);
  ASSERT_EQ(UntilExchange({pieces[8], pieces[9]}).promoted, 2 * kPiece);
  EXPECT_EQ(Round(0.95).undone, 0u);
  EXPECT_EQ(Round(0.5).undone, 0u) << "it was judged already";
}

TEST_F(PlacementTest, UnknownProgressUndoesNothing) {
  const auto pieces = Allocate(10);
  ASSERT_EQ(UntilExchange({pieces[9]}).promoted, kPiece);
  EXPECT_EQ(Round(std::nullopt).undone, 0u);
}

// Nothing changes: what is read only shows in the progress.
TEST_F(PlacementTest, WhatIsReadIsFoundByTrial) {
  Allocate(10);
  EXPECT_EQ(UntilExchange({}).promoted, 2 * kPiece);
  EXPECT_EQ(Round(2.0).undone, 0u) << "faster: kept";
  EXPECT_EQ(OnHost(), 2 * kPiece);
}

TEST_F(PlacementTest, TrialsThatBringNothingBecomeRare) {
  Allocate(10);
  int trials = 0;
  for (int i = 0; i < 200; ++i) trials += Rounds(1, {}).promoted > 0 ? 1 : 0;
  EXPECT_GE(trials, 3);
  EXPECT_LE(trials, 5);
}

TEST_F(PlacementTest, MovesABoundedAmountPerRound) {
  const auto pieces = Allocate(16);
  const RoundReport one = UntilExchange(std::vector<CUdeviceptr>(pieces.begin() + 8, pieces.end()));
  EXPECT_EQ(one.promoted, 4 * kPiece);
  EXPECT_EQ(one.demoted, 4 * kPiece);
}

TEST_F(PlacementTest, FreedMemoryTakesWhatIsOnTheHost) {
  const auto pieces = Allocate(10);
  ledger_.Free(pieces[0]);
  const RoundReport report = Round();
  EXPECT_EQ(report.promoted, kPiece);
  EXPECT_EQ(report.demoted, 0u);
  EXPECT_EQ(OnHost(), kPiece);
  EXPECT_EQ(ledger_.GetUsage(0).spare, 0u);
  for (unsigned i = 1; i < 10; ++i) EXPECT_TRUE(Holds(pieces[i], kPiece, i + 1)) << i;
}

TEST_F(PlacementTest, NothingIsPromotedBeyondTheCredit) {
  const auto pieces = Allocate(10);
  ledger_.Free(pieces[0]);
  ledger_.TakeSpare(0, 0);  // returned to the daemon
  EXPECT_EQ(Round().promoted, 0u);
  EXPECT_EQ(gpu_.in_use(), kBudget - kPiece);
}

TEST_F(PlacementTest, NothingIsDemotedBeyondTheHost) {
  const auto pieces = Allocate(10);
  gpu_.host_capacity = gpu_.on_host();
  const RoundReport report = Rounds(8, {pieces[9]});
  EXPECT_EQ(report.promoted + report.demoted, 0u);
  EXPECT_EQ(report.hot, kPiece);
  EXPECT_EQ(gpu_.in_use(), kBudget);
}

TEST_F(PlacementTest, WithoutFingerprintsNothingMoves) {
  const auto pieces = Allocate(10);
  gpu_.FailCall("Launch", 1, CUDA_ERROR_UNKNOWN, 1000);
  EXPECT_EQ(Rounds(10, {pieces[9]}).promoted, 0u);
}

TEST_F(PlacementTest, PinnedMemoryStaysOnTheGpu) {
  const CUmemGenericAllocationHandle handle = Created(kBudget);
  const CUdeviceptr pinned = Mapped(handle, kBudget);
  ledger_.AddCredit(0, kBudget);
  Fill(pinned, kBudget, 1);
  CUmemGenericAllocationHandle real = 0;
  gpu_.capacity = 2 * kBudget;
  ASSERT_EQ(ledger_.Pin(handle, &real).outcome, Outcome::kDone);
  gpu_.capacity = kBudget;
  const auto pieces = Allocate(1);
  ASSERT_EQ(OnHost(), kPiece);
  EXPECT_EQ(Rounds(8, pieces).demoted, 0u);
  EXPECT_TRUE(Holds(pinned, kBudget, 1));
}

TEST_F(PlacementTest, EvictionAndSwapInLeaveItWhereItIs) {
  const auto pieces = Allocate(10);
  const EvictResult result = Evict(~Bytes{0});
  EXPECT_EQ(result.freed, kBudget);
  EXPECT_EQ(result.copied, kBudget);
  EXPECT_EQ(gpu_.in_use(), 0u);
  EXPECT_EQ(gpu_.on_host(), 2 * kPiece);
  EXPECT_TRUE(Holds(pieces[9], kPiece, 10)) << "still mapped";
  EXPECT_EQ(SwapInWith(kBudget), SwapInState::kDone);
  EXPECT_EQ(gpu_.bytes_in, kBudget);
  EXPECT_EQ(ledger_.GetUsage(0).spare, 0u);
  for (unsigned i = 0; i < 10; ++i) EXPECT_TRUE(Holds(pieces[i], kPiece, i + 1)) << i;
}

// Whatever call of the driver fails in a round: contents and accounts stay right, or the gate is
// told not to open.
TEST_F(PlacementTest, FailureOfAnyCallLosesNothing) {
  const auto pieces = Allocate(10);
  for (const char* call : {"Create", "Map", "SetAccess", "CopyOnDevice", "StreamSynchronize",
                           "Unmap", "Release", "AddressReserve", "StreamCreate"}) {
    for (int nth = 1; nth <= 6; ++nth) {
      for (int i = 0; i < 30; ++i) {
        ++Word(pieces[9], 0);
        Fill(pieces[9], kPiece, Word(pieces[9], 0));
        gpu_.FailCall(call, nth, CUDA_ERROR_UNKNOWN);
        const RoundReport report = Round();
        if (report.unmapped) {
          EXPECT_EQ(mover_.SwapInStep(), SwapInState::kDone) << call << nth;
        }
        if (report.promoted + report.demoted > 0) break;
      }
      gpu_.FailCall(call, 1, CUDA_SUCCESS);
      for (unsigned i = 0; i < 9; ++i) {
        ASSERT_TRUE(Holds(pieces[i], kPiece, i + 1)) << call << nth << " piece " << i;
      }
      ASSERT_TRUE(Holds(pieces[9], kPiece, Word(pieces[9], 0))) << call << nth;
      const MemoryUsage usage = ledger_.GetUsage(0);
      ASSERT_LE(usage.resident + usage.spare, kBudget);
      ASSERT_EQ(usage.resident + usage.on_host, 10 * kPiece);
    }
  }
}

// A piece that can be mapped neither at its new place nor at the old one.
TEST_F(PlacementTest, UnmappedPieceIsReportedAndMappedBySwapIn) {
  const auto pieces = Allocate(10);
  Rounds(2, {pieces[8], pieces[9]});
  ++Word(pieces[8], 0);
  // Of the piece that makes room two succeed: in staging, and at its address; of the one that
  // follows the first.
  gpu_.FailCall("Map", 4, CUDA_ERROR_UNKNOWN, 2);
  const RoundReport report = Round();
  EXPECT_EQ(report.demoted, kPiece);
  EXPECT_EQ(report.promoted, 0u);
  EXPECT_TRUE(report.unmapped);
  EXPECT_EQ(OnHost(), 3 * kPiece);
  EXPECT_EQ(ledger_.GetUsage(0).spare, kPiece);
  EXPECT_EQ(mover_.SwapInStep(), SwapInState::kDone);
  EXPECT_EQ(ledger_.GetUsage(0).spare, kPiece) << "it needs no credit";
  for (unsigned i = 0; i < 8; ++i) EXPECT_TRUE(Holds(pieces[i], kPiece, i + 1)) << i;
  EXPECT_EQ(Word(pieces[8], 0), 9u + 3);
}

}  // namespace placement_test
}  // namespace reveza::swap

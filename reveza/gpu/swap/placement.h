// Decides which pieces of a program larger than the card are in GPU memory and which in memory of
// the host, and moves them between the two, at the same address.
//
// In each round some pieces are looked at, by their fingerprints: a piece on the host that has
// changed since it was looked at last is *hot*; one on the GPU that has not changed in two looks in
// a row is *cold*. Hot pieces are exchanged for cold ones. What is only read changes nothing, so
// every exchange is a trial: if the program then gets less work done than before, it is undone, and
// these pieces stay where they are for a while, each time for twice as long. Where nothing hot is
// on the host, unchanged pieces are exchanged for cold ones now and then, which finds what is only
// read; the wait doubles each time that this brings nothing. docs/larger-than-card.md says why.
//
// A program of which everything changes has no cold pieces, so nothing moves.
//
// The GPU must not use the memory meanwhile (gate closed, queue drained).
// Not thread-safe: owned by the agent. It holds the ledger's lock during a round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "reveza/gpu/swap/ledger.h"

namespace reveza::swap {

struct RoundReport {
  Bytes promoted = 0;  // moved to the GPU
  Bytes demoted = 0;   // moved to the host
  Bytes undone = 0;    // of both, by which an exchange was undone
  // Pieces that are still on the host, and have changed between the last two looks at them.
  Bytes hot = 0;
  // There are such, and no piece on the GPU is cold, or may turn out to be.
  bool full = false;
  // What was looked at on the host, and how long that took: the link's speed for a kernel.
  Bytes read_on_host = 0;
  std::int64_t reading_us = 0;
  // A piece could not be mapped again: the gate must not open before SwapInStep() has done that.
  bool unmapped = false;
};

class Placement {
 public:
  // Bounds of a round.
  static constexpr Bytes kMaxExchange = 512 * kMiB;        // each way
  static constexpr Bytes kMaxLookOnGpu = 16 * kGiB;        // 7 ms
  static constexpr Bytes kMaxLookOnHost = Bytes{1} << 30;  // over the link: 20 ms
  // By how much the progress must differ to count as better or worse.
  static constexpr double kTolerance = 0.1;

  Placement(const Driver& driver, Ledger& ledger, Bytes max_exchange = kMaxExchange)
      : driver_(driver), ledger_(ledger), fingerprinter_(driver), max_exchange_(max_exchange) {}

  // Makes a round on one device. `progress`: the work that was done since the last round, per time;
  // nullopt if that is not known, e.g. because the program did not run all the time.
  RoundReport Round(int ordinal, std::optional<double> progress);

 private:
  struct Place {
    Block* block = nullptr;
    Piece* piece = nullptr;
  };
  using Places = std::vector<Place>;
  // What changes is settled first.
  static constexpr std::uint32_t kFirstBlind = 6;

  // An exchange whose effect is not known yet. Number 0: none.
  struct Trial {
    std::uint32_t number = 0;
    bool blind = false;  // not because of a change
  };

  // Calls `visit` for the pieces that may move.
  template <typename Visit>
  void ForEach(DeviceMemory& device, Visit visit) REQUIRES(ledger_.mutex_);
  void Look(DeviceMemory& device, RoundReport* report) REQUIRES(ledger_.mutex_);
  void LookAt(DeviceMemory& device, const Places& places) REQUIRES(ledger_.mutex_);
  // Returns whether the last exchange made the program slower, and notes its outcome otherwise.
  bool MadeWorse(std::optional<double> progress);
  void Undo(DeviceMemory& device, RoundReport* report) REQUIRES(ledger_.mutex_);
  void FillSpare(DeviceMemory& device, RoundReport* report) REQUIRES(ledger_.mutex_);
  void Exchange(DeviceMemory& device, RoundReport* report) REQUIRES(ledger_.mutex_);
  // Moves a piece to the other place. Returns false, with nothing changed, if it cannot.
  bool Move(DeviceMemory& device, Place place, RoundReport* report) REQUIRES(ledger_.mutex_);
  bool MayMove(const DeviceMemory& device, const Piece& piece) const REQUIRES(ledger_.mutex_);
  CUresult CopyTo(DeviceMemory& device, CUmemGenericAllocationHandle to, const Place& from,
                  CUdeviceptr address) REQUIRES(ledger_.mutex_);

  const Driver& driver_;
  Ledger& ledger_;
  const Fingerprinter fingerprinter_;
  const Bytes max_exchange_;
  std::uint32_t round_ = 0;
  std::uint32_t exchanges_ = 0;
  Trial trial_;
  std::optional<double> before_;  // progress before the exchange
  // Round before which no unchanged pieces are exchanged, and the wait after that.
  std::uint32_t next_blind_ = kFirstBlind;
  std::uint32_t blind_wait_ = kFirstBlind;
};

}  // namespace reveza::swap

// For tests: the same calls of the driver itself and through the library that is linked into this
// program, with the memory resident and with it swapped out. What each call answers goes into a
// transcript, and all transcripts must be the same.
//
// One process has one client, so all tests of one process share a daemon and a context.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "interpose/client.h"
#include "interpose/driver_calls.h"
#include "interpose/testing/scripted_daemon.h"

namespace reveza::interpose::testing {

inline constexpr Bytes kBudget = 192 * kMiB;

// One pass over a scenario.
class Pass {
 public:
  enum class Way { kDriver, kLibrary, kLibrarySwappedOut };

  Pass(Way way, const DriverCalls& calls, ScriptedDaemon& daemon)
      : cuda(calls), way_(way), daemon_(daemon) {}

  // The entries to call: `pass.cuda.cuMemAlloc_v2(...)`.
  const DriverCalls& cuda;

  // ---- what goes into the transcript ----
  CUresult Note(const char* what, CUresult result);
  void Note(const char* what, std::uint64_t value);
  // An address, as an offset into what Know was told.
  void NoteAddress(const char* what, CUdeviceptr address);
  void Know(CUdeviceptr base, Bytes size) { known_.push_back({base, size}); }

  // Here all memory leaves the card, on the way where it does.
  void MoveOut();
  // Here it is on the card, on all ways. (What a call with a wrong address answers is only known
  // to the driver, which is not asked while the memory is out.)
  void BringIn();

  // ---- shorthand ----
  CUdeviceptr Allocate(Bytes size);
  void Fill(CUdeviceptr address, unsigned value, std::size_t words);
  // Notes the word.
  void NoteWord(const char* what, CUdeviceptr address);
  static CUmemAllocationProp Properties();
  static CUmemAccessDesc ReadWrite();

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  struct Range {
    CUdeviceptr base;
    Bytes size;
  };
  Way way_;
  ScriptedDaemon& daemon_;
  std::vector<Range> known_;
  std::vector<std::string> lines_;
};

class DifferentialTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Runs it on every way and compares. What it takes it must give back.
  void Compare(void (*scenario)(Pass& pass));

  static ScriptedDaemon& daemon();
  // The driver's own entries, and what a program gets instead.
  static const DriverCalls& Direct();
  static const DriverCalls& Through();
  Client& client() { return *Client::Get(); }
  swap::Books books() { return client().ledger().GetBooks(0); }

  CUcontext context_ = nullptr;
};

}  // namespace reveza::interpose::testing

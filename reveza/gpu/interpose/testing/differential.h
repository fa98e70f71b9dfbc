// Differential tests: runs the same calls directly on the driver and through the library linked
// into this program, with memory resident and swapped out. All results go into a transcript, and
// the transcripts must be equal.
//
// A process has one client, so all tests of a process share a daemon and a context.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/testing/scripted_daemon.h"

namespace reveza::interpose::testing {

inline constexpr Bytes kBudget = 192 * kMiB;

// One pass over a scenario.
class Pass {
 public:
  enum class Mode { kDriver, kLibrary, kLibrarySwappedOut };

  Pass(Mode mode, const DriverCalls& calls, ScriptedDaemon& daemon)
      : cuda(calls), mode_(mode), daemon_(daemon) {}

  // The functions to call: `pass.cuda.cuMemAlloc_v2(...)`.
  const DriverCalls& cuda;

  // ---- the transcript ----
  CUresult Note(const char* what, CUresult result);
  void Note(const char* what, std::uint64_t value);
  // Notes an address as an offset into a known range.
  void NoteAddress(const char* what, CUdeviceptr address);
  void AddKnownRange(CUdeviceptr base, Bytes size) { known_.push_back({base, size}); }

  // Swaps all memory out, if mode is kLibrarySwappedOut.
  void SwapOut();
  // Waits until all memory is resident. (Errors for wrong addresses are the driver's, which is not
  // asked while memory is swapped out.)
  void AwaitSwapIn();

  // ---- shorthand ----
  CUdeviceptr Allocate(Bytes size);
  void Fill(CUdeviceptr address, unsigned value, std::size_t words);
  // Notes the word at `address`.
  void NoteWord(const char* what, CUdeviceptr address);
  static CUmemAllocationProp Properties();
  static CUmemAccessDesc ReadWrite();

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  struct Range {
    CUdeviceptr base;
    Bytes size;
  };
  Mode mode_;
  ScriptedDaemon& daemon_;
  std::vector<Range> known_;
  std::vector<std::string> lines_;
};

class DifferentialTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Runs `scenario` in every mode and compares the transcripts. It must free what it allocates.
  void Compare(void (*scenario)(Pass& pass));

  static ScriptedDaemon& daemon();
  // The driver's own functions, and those a program gets from the library.
  static const DriverCalls& Direct();
  static const DriverCalls& Through();
  Client& client() { return *Client::Get(); }
  swap::MemoryUsage usage() { return client().ledger().GetUsage(0); }

  CUcontext context_ = nullptr;
};

}  // namespace reveza::interpose::testing

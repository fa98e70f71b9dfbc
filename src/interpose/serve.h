// Asks the ledger until it has an answer: waits for credit, for a handover, for memory that is
// released late. The one place where an application's memory call can wait.
// Thread-safety: any thread of the application.
#pragma once

#include <unistd.h>

#include "interpose/client.h"
#include "interpose/driver_calls.h"
#include "swap/ledger.h"

namespace reveza::interpose {

struct Served {
  bool ours = false;  // false: the driver must answer
  CUresult result = CUDA_SUCCESS;
};

// `ask` is called again and again until its Reply is final.
template <typename Ask>
Served Serve(Client& client, int ordinal, Ask ask) {
  constexpr int kRetries = 5000;  // of 2 ms: ten seconds
  int retries = 0;
  for (;;) {
    const swap::Reply reply = ask();
    switch (reply.outcome) {
      case swap::Outcome::kDone:
        client.BooksChanged();
        return {true, CUDA_SUCCESS};
      case swap::Outcome::kForeign:
        return {false, CUDA_SUCCESS};
      case swap::Outcome::kFailed:
        return {true, reply.error};
      case swap::Outcome::kNeedCredit:
        if (client.AskGrowth(ordinal, wire::GrowthKind::kSwappable, reply.needed) ==
            Answer::kRefused) {
          return {true, CUDA_ERROR_OUT_OF_MEMORY};
        }
        break;
      case swap::Outcome::kWait: {
        if (client.ledger().residency() == swap::Residency::kOut) {
          const GateScope ask_for_a_turn;
          break;
        }
        GatePause pause;
        client.ledger().WaitForChange(100'000);
        break;
      }
      case swap::Outcome::kRetry: {
        if (++retries > kRetries) return {true, reply.error};
        GatePause pause;
        usleep(2000);
        break;
      }
    }
  }
}

// The device and context that are current on this thread. false: none.
inline bool CurrentDevice(int* ordinal, CUcontext* context) {
  CUdevice device = 0;
  if (Real().cuCtxGetDevice(&device) != CUDA_SUCCESS) return false;
  *ordinal = device;
  return Real().cuCtxGetCurrent(context) == CUDA_SUCCESS;
}

// What to ask the driver about an address that is in no allocation. In a hole between ours it has
// memory, which is nobody's: it is asked about the null address instead.
inline CUdeviceptr ForTheDriver(Client& client, CUdeviceptr address) {
  return client.ledger().IsMapped(address, 1) ? 0 : address;
}

}  // namespace reveza::interpose

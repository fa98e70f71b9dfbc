// Legacy CUDA IPC (cuIpcGetMemHandle) of swappable memory. The handle that the program passes to
// another process is a ticket: it names a socket of this process, on which the library in the other
// process asks for a file descriptor of the memory. The memory is pinned meanwhile; what a process
// has mapped stays until it closes it, whatever the others do.
//
// The socket has an abstract name, so that it is found from other mount namespaces. It serves
// processes of the same user only.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "reveza/gpu/swap/ledger.h"

namespace reveza::interpose {

// What a handle holds.
struct MemoryTicket {
  char magic[8];
  unsigned char socket[16];  // random, in the name of the exporter's socket
  std::uint64_t number;      // as of Ledger::Shared
  std::uint64_t offset;
  std::uint64_t size;
  unsigned char device[16];  // UUID
};
static_assert(sizeof(MemoryTicket) == sizeof(CUipcMemHandle));

// Returns whether a handle is a ticket.
bool IsTicket(const CUipcMemHandle& handle);

// What a ticket was exchanged for.
struct TicketAnswer {
  int file = -1;
  Bytes handle_size = 0;
  const char* problem = nullptr;  // for people; null: none
};

// Asks the exporter for the memory. Blocks for ten seconds at most. Thread-safe.
TicketAnswer RedeemTicket(const MemoryTicket& ticket);

// Answers other processes that redeem tickets, on a thread of its own. Thread-safe.
class TicketOffice {
 public:
  explicit TicketOffice(swap::Ledger& ledger) : ledger_(ledger) {}

  // Writes the ticket of shared memory. Starts to serve, if that was not done before. Returns false
  // if that is impossible.
  bool Issue(const swap::Ledger::Shared& shared, const CUuuid& device, MemoryTicket* ticket);
  // Returns whether this process has issued the ticket.
  bool IsOwn(const MemoryTicket& ticket);
  // Closes the socket, which is the parent's.
  void AfterForkInChild();

 private:
  bool Start() REQUIRES(mutex_);
  static void* Main(void* office);
  void Serve(int connection);

  swap::Ledger& ledger_;
  Mutex mutex_;
  unsigned char name_[16] GUARDED_BY(mutex_) = {};
  std::atomic<int> socket_{-1};
};

// Memory of other processes that the program has opened. Thread-safe.
class ImportedMemory {
 public:
  struct Mapping {
    MemoryTicket ticket{};
    CUcontext context = nullptr;  // it ends with this context
    CUdeviceptr address = 0;      // of the allocation
    CUdeviceptr base = 0;         // of the handle that holds it
    Bytes size = 0;               // of the handle
    int ordinal = 0;
    int references = 1;
  };
  // Returns the address of a ticket that is open in the context, and counts it once more; else 0.
  CUdeviceptr Reopen(const MemoryTicket& ticket, CUcontext context);
  void Add(const Mapping& mapping);
  // Takes a reference from the allocation that begins at `address`. Returns whether it is ours; if
  // that was the last one, it is removed and returned in `gone`, otherwise `gone->size` is 0.
  bool Close(CUdeviceptr address, Mapping* gone);
  std::vector<Mapping> TakeOf(CUcontext context);
  // Returns the allocation that contains an address. Returns false if there is none.
  bool Find(CUdeviceptr address, CUdeviceptr* begin, Bytes* size, int* ordinal);

 private:
  Mutex mutex_;
  std::vector<Mapping> mappings_ GUARDED_BY(mutex_);
};

}  // namespace reveza::interpose

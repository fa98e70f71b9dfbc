// Tickets of legacy CUDA IPC: what they are exchanged for, by whom and for how long.
#include <dirent.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "reveza/gpu/interpose/memory_tickets.h"
#include "reveza/gpu/interpose/testing/hook_fixture.h"

namespace reveza::interpose {
namespace hook_effects_ipc_test {

using testing::HookEffects;
using testing::kLarge;

class IpcEffects : public HookEffects {
 protected:
  static MemoryTicket TicketOf(CUdeviceptr address) {
    CUipcMemHandle handle{};
    EXPECT_EQ(::cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
    EXPECT_TRUE(IsTicket(handle));
    MemoryTicket ticket{};
    memcpy(&ticket, &handle, sizeof(ticket));
    return ticket;
  }
  static CUipcMemHandle HandleOf(const MemoryTicket& ticket) {
    CUipcMemHandle handle{};
    memcpy(&handle, &ticket, sizeof(handle));
    return handle;
  }
  // As if another process had issued it.
  static MemoryTicket OfAnother(MemoryTicket ticket) {
    ticket.socket[0] ^= 1;
    return ticket;
  }
  // Returns what a ticket is exchanged for; empty if it is.
  static std::string Problem(const MemoryTicket& ticket) {
    const TicketAnswer answer = RedeemTicket(ticket);
    if (answer.file >= 0) close(answer.file);
    return answer.problem == nullptr ? "" : answer.problem;
  }
  // Runs `check` in a forked child, and returns its exit status.
  static int InChild(const std::function<int()>& check) {
    const pid_t child = fork();
    if (child == 0) _exit(check());
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static int OpenFiles() {
    int count = 0;
    DIR* folder = opendir("/proc/self/fd");
    while (readdir(folder) != nullptr) ++count;
    closedir(folder);
    return count;
  }
  // Connects to the exporter as a process does that has no library.
  static int Connect(const MemoryTicket& ticket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string name = "reveza-memory-";
    for (const unsigned char byte : ticket.socket) {
      char digits[3];
      snprintf(digits, sizeof(digits), "%02x", byte);
      name += digits;
    }
    memcpy(address.sun_path + 1, name.data(), name.size());
    const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return connect(connection, reinterpret_cast<sockaddr*>(&address), size) == 0 ? connection : -1;
  }
};

TEST_F(IpcEffects, SharedMemoryKeepsItsContentsAndIsPinned) {
  const CUdeviceptr large = Allocate(kLarge / 2);
  const CUdeviceptr small = Allocate(4096);
  const CUdeviceptr other = Allocate(8 * kMiB);
  Write(large, kLarge / 2);
  Write(small, 4096);
  const MemoryTicket of_large = TicketOf(large);
  const MemoryTicket of_small = TicketOf(small);
  EXPECT_EQ(of_large.size, kLarge / 2);
  EXPECT_EQ(of_small.size, 4096u);
  EXPECT_EQ(Usage().pinned, kLarge / 2 + 2 * kMiB);
  SwapOut();
  EXPECT_EQ(Usage().swapped, 8 * kMiB) << "only the other";
  SwapIn();
  ExpectWritten(large, kLarge / 2);
  ExpectWritten(small, 4096);
  for (const CUdeviceptr one : {large, small, other}) {
    EXPECT_EQ(::cuMemFree_v2(one), CUDA_SUCCESS);
  }
  EXPECT_EQ(Usage().pinned, 0u);
}

// What is allocated later moves, and other processes do not see it.
TEST_F(IpcEffects, NothingIsAllocatedBesideSharedMemory) {
  const CUdeviceptr shared = Allocate(4096);
  TicketOf(shared);
  const CUdeviceptr later = Allocate(4096);
  EXPECT_EQ(Usage().pinned, 2 * kMiB);
  EXPECT_EQ(Usage().resident, 2 * kMiB);
  EXPECT_EQ(::cuMemFree_v2(shared), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(later), CUDA_SUCCESS);
}

TEST_F(IpcEffects, AFileOfTheMemoryHasItsContents) {
  const CUdeviceptr address = Allocate(kLarge / 2);
  Write(address, kLarge / 2);
  const TicketAnswer answer = RedeemTicket(TicketOf(address));
  ASSERT_EQ(answer.problem, nullptr) << answer.problem;
  ASSERT_EQ(answer.handle_size, kLarge / 2);
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(Real().cuMemImportFromShareableHandle(
                &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(answer.file)),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  close(answer.file);
  CUdeviceptr mapped = 0;
  const CUmemAccessDesc access = testing::ReadWrite(0);
  ASSERT_EQ(Real().cuMemAddressReserve(&mapped, kLarge / 2, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuMemMap(mapped, kLarge / 2, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuMemSetAccess(mapped, kLarge / 2, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
  ExpectWritten(mapped, kLarge / 2);
  EXPECT_EQ(Real().cuMemUnmap(mapped, kLarge / 2), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuMemAddressFree(mapped, kLarge / 2), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuMemRelease(handle), CUDA_SUCCESS);
}

TEST_F(IpcEffects, TicketsOfFreedMemoryAreStale) {
  for (const Bytes size : {Bytes{4096}, 8 * kMiB}) {
    const CUdeviceptr first = Allocate(size);
    const MemoryTicket ticket = TicketOf(first);
    EXPECT_EQ(Problem(ticket), "");
    EXPECT_EQ(::cuMemFree_v2(first), CUDA_SUCCESS);
    EXPECT_EQ(Problem(ticket), "the process that shared it has freed it");
    const CUdeviceptr second = Allocate(size);
    TicketOf(second);
    EXPECT_EQ(Problem(ticket), "the process that shared it has freed it") << "for the first one";
    EXPECT_EQ(::cuMemFree_v2(second), CUDA_SUCCESS);
  }
}

TEST_F(IpcEffects, TicketsThatAreNotOursAreRefused) {
  const CUdeviceptr address = Allocate(8 * kMiB);
  MemoryTicket ticket = TicketOf(address);
  ticket.offset += 512;
  EXPECT_NE(Problem(ticket), "") << "no allocation begins there";
  ticket.offset = ~std::uint64_t{0};
  EXPECT_NE(Problem(ticket), "");
  ticket = TicketOf(address);
  ticket.size = 16 * kMiB;
  EXPECT_NE(Problem(ticket), "");
  ticket = TicketOf(address);
  ticket.number = 0;
  EXPECT_NE(Problem(ticket), "");
  EXPECT_EQ(Problem(TicketOf(address)), "") << "the office goes on";
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(IpcEffects, TheEndOfTheExporterIsAnError) {
  const CUdeviceptr address = Allocate(8 * kMiB);
  const MemoryTicket ticket = OfAnother(TicketOf(address));
  EXPECT_NE(Problem(ticket).find("has ended"), std::string::npos);
  CUdeviceptr opened = 0;
  EXPECT_EQ(::cuIpcOpenMemHandle_v2(&opened, HandleOf(ticket), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
}

// A client that says nothing does not keep others from being served for ever.
TEST_F(IpcEffects, ASilentClientIsNotWaitedForLong) {
  const CUdeviceptr address = Allocate(8 * kMiB);
  const MemoryTicket ticket = TicketOf(address);
  const int silent = Connect(ticket);
  ASSERT_GE(silent, 0);
  EXPECT_EQ(Problem(ticket), "");
  close(silent);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
}

// Of another process, as far as the library can tell: it has another office.
class OpenedMemory : public IpcEffects {
 protected:
  static constexpr Bytes kBytes = 8 * kMiB;

  void SetUp() override {
    IpcEffects::SetUp();
    memory_ = Allocate(kBytes);
    Write(memory_, kBytes);
    static auto* office = new TicketOffice(ledger());  // its thread does not end
    swap::Ledger::Shared shared;
    ASSERT_EQ(ledger().Share(memory_, &shared).outcome, swap::Outcome::kDone);
    MemoryTicket ticket{};
    ASSERT_TRUE(office->Issue(shared, DeviceUuid(Real(), 0), &ticket));
    handle_ = HandleOf(ticket);
    ASSERT_EQ(Usage().pinned, kBytes);
  }
  CUdeviceptr Open() {
    CUdeviceptr opened = 0;
    EXPECT_EQ(::cuIpcOpenMemHandle_v2(&opened, handle_, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
              CUDA_SUCCESS);
    return opened;
  }

  CUdeviceptr memory_ = 0;
  CUipcMemHandle handle_{};
};

TEST_F(OpenedMemory, IsTheSameAndCountsUntilItIsClosed) {
  const CUdeviceptr opened = Open();
  ExpectWritten(opened, kBytes);
  EXPECT_EQ(Usage().pinned, 2 * kBytes);
  CUdeviceptr begin = 0;
  std::size_t size = 0;
  EXPECT_EQ(::cuMemGetAddressRange_v2(&begin, &size, opened + 4096), CUDA_SUCCESS);
  EXPECT_EQ(begin, opened);
  EXPECT_EQ(size, kBytes);
  ASSERT_EQ(::cuMemsetD8_v2(opened, 3, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(::cuCtxSynchronize(), CUDA_SUCCESS);
  unsigned char last = 0;
  EXPECT_EQ(::cuMemcpyDtoH_v2(&last, memory_ + kBytes - 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(last, 3);
  EXPECT_EQ(::cuIpcCloseMemHandle(opened + 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(::cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, kBytes);
  EXPECT_EQ(::cuIpcCloseMemHandle(opened), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(::cuMemFree_v2(memory_), CUDA_SUCCESS);
}

TEST_F(OpenedMemory, IsOpenAsOftenAsItWasOpened) {
  const CUdeviceptr opened = Open();
  EXPECT_EQ(Open(), opened);
  EXPECT_EQ(Usage().pinned, 2 * kBytes);
  EXPECT_EQ(::cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
  ExpectWritten(opened, kBytes);
  EXPECT_EQ(::cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, kBytes);
  EXPECT_EQ(::cuMemFree_v2(memory_), CUDA_SUCCESS);
}

TEST_F(OpenedMemory, OutlivesItsExportersFree) {
  const CUdeviceptr opened = Open();
  EXPECT_EQ(::cuMemFree_v2(memory_), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, kBytes);
  const CUdeviceptr other = Allocate(kBytes);
  ASSERT_EQ(::cuMemsetD8_v2(other, 9, kBytes), CUDA_SUCCESS);
  ExpectWritten(opened, kBytes);
  EXPECT_EQ(::cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(other), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, 0u);
}

TEST_F(OpenedMemory, IsClosedAfterTheWorkThatUsesIt) {
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  ASSERT_EQ(Real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(::cuModuleLoadData(&module, "image"), CUDA_SUCCESS);
  ASSERT_EQ(::cuModuleGetFunction(&spin, module, "reveza_spin"), CUDA_SUCCESS);
  unsigned long long nanoseconds = 100'000'000;
  void* arguments[] = {&nanoseconds};
  const CUdeviceptr opened = Open();
  ASSERT_EQ(::cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(::cuMemsetD8Async(opened, 3, kBytes, stream), CUDA_SUCCESS);
  EXPECT_EQ(::cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
  EXPECT_EQ(Real().cuStreamQuery(stream), CUDA_SUCCESS) << "the work was not waited for";
  EXPECT_EQ(::cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(memory_), CUDA_SUCCESS);
}

TEST_F(OpenedMemory, IsClosedWithItsContext) {
  CUcontext second = nullptr;
  ASSERT_EQ(::cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  const CUdeviceptr opened = Open();
  EXPECT_EQ(Usage().pinned, 2 * kBytes);
  ASSERT_EQ(::cuCtxDestroy_v2(second), CUDA_SUCCESS);
  ASSERT_EQ(Real().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(Usage().pinned, kBytes);
  EXPECT_EQ(::cuIpcCloseMemHandle(opened), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(::cuMemFree_v2(memory_), CUDA_SUCCESS);
}

// Each call of the driver that opening makes may fail.
TEST_F(OpenedMemory, NothingIsLeftOfAFailure) {
  const DriverCalls calls = internal::driver_calls;
  const auto expect_failure = [&] {
    const Bytes before = Usage().pinned;
    CUdeviceptr opened = 0;
    EXPECT_NE(::cuIpcOpenMemHandle_v2(&opened, handle_, 0), CUDA_SUCCESS);
    internal::driver_calls = calls;
    EXPECT_EQ(Usage().pinned, before);
  };
  const int files = OpenFiles();
  internal::driver_calls.cuMemImportFromShareableHandle = [](CUmemGenericAllocationHandle*, void*,
                                                             CUmemAllocationHandleType) {
    return CUDA_ERROR_UNKNOWN;
  };
  expect_failure();
  internal::driver_calls.cuMemAddressReserve = [](CUdeviceptr*, std::size_t, std::size_t,
                                                  CUdeviceptr, unsigned long long) {
    return CUDA_ERROR_UNKNOWN;
  };
  expect_failure();
  internal::driver_calls.cuMemMap = [](CUdeviceptr, std::size_t, std::size_t,
                                       CUmemGenericAllocationHandle,
                                       unsigned long long) { return CUDA_ERROR_UNKNOWN; };
  expect_failure();
  internal::driver_calls.cuMemSetAccess = [](CUdeviceptr, std::size_t, const CUmemAccessDesc*,
                                             std::size_t) { return CUDA_ERROR_UNKNOWN; };
  expect_failure();
  // The office, in this process here, closes its own after it has answered.
  for (int i = 0; i < 10'000 && OpenFiles() != files; ++i) usleep(1000);
  EXPECT_EQ(OpenFiles(), files);
  const CUdeviceptr opened = Open();
  ExpectWritten(opened, kBytes);
  EXPECT_EQ(::cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
  EXPECT_EQ(::cuMemFree_v2(memory_), CUDA_SUCCESS);
}

TEST_F(IpcEffects, ItsOwnMemoryIsNotOpened) {
  const CUdeviceptr address = Allocate(8 * kMiB);
  CUdeviceptr opened = 0;
  EXPECT_EQ(::cuIpcOpenMemHandle_v2(&opened, HandleOf(TicketOf(address)), 0),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
}

// Neither trusts the other.
TEST_F(IpcEffects, AnotherUserGetsNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const CUdeviceptr address = Allocate(8 * kMiB);
  const MemoryTicket ticket = TicketOf(address);
  EXPECT_EQ(InChild([&] {
              if (setresuid(65534, 65534, 65534) != 0) return 9;
              return Problem(ticket) == "the process that shares it is another user's" ? 0 : 1;
            }),
            0);
  EXPECT_EQ(InChild([&] {
              if (setresuid(65534, 65534, 65534) != 0) return 9;
              const int connection = Connect(ticket);
              if (connection < 0) return 2;
              send(connection, &ticket, sizeof(ticket), MSG_NOSIGNAL);
              char byte = 0;
              return recv(connection, &byte, 1, 0) <= 0 ? 0 : 1;
            }),
            0);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
}

// The parent's end would not be noticed while a child keeps its socket.
TEST_F(IpcEffects, AForkedChildKeepsNoSocket) {
  const CUdeviceptr address = Allocate(8 * kMiB);
  TicketOf(address);
  const int files = OpenFiles();
  EXPECT_EQ(InChild([&] { return OpenFiles() == files - 1 ? 0 : 1; }), 0);
  EXPECT_EQ(::cuMemFree_v2(address), CUDA_SUCCESS);
}

}  // namespace hook_effects_ipc_test
}  // namespace reveza::interpose

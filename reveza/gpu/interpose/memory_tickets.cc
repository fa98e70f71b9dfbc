#include "reveza/gpu/interpose/memory_tickets.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/captures.h"

namespace reveza::interpose {
namespace {

constexpr char kMagic[8] = {'R', 'E', 'V', 'E', 'Z', 'A', 'T', '1'};
constexpr char kPrefix[] = "reveza-memory-";
constexpr int kTimeoutSeconds = 10;
// A client that has connected but says nothing is not waited for as long.
constexpr int kRequestSeconds = 1;

struct Reply {
  std::int32_t result = CUDA_ERROR_INVALID_VALUE;
  Bytes handle_size = 0;
};

// An owned file descriptor.
class File {
 public:
  explicit File(int file) : file_(file) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return file_; }

 private:
  const int file_;
};

// The abstract address of an exporter: a null byte, the prefix and its name in hexadecimal.
struct Address {
  explicit Address(const unsigned char (&name)[16]) {
    constexpr char kDigits[] = "0123456789abcdef";
    un.sun_family = AF_UNIX;
    char* at = un.sun_path + 1;
    memcpy(at, kPrefix, sizeof(kPrefix) - 1);
    at += sizeof(kPrefix) - 1;
    for (const unsigned char byte : name) {
      *at++ = kDigits[byte >> 4];
      *at++ = kDigits[byte & 15];
    }
    size = static_cast<socklen_t>(at - reinterpret_cast<char*>(&un));
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }

  sockaddr_un un{};
  socklen_t size = 0;
};

void SetTimeouts(int connection, int seconds) {
  const timeval limit = {seconds, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

bool IsSameUser(int connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

bool SendReply(int connection, const Reply& reply, int file) {
  iovec data = {const_cast<Reply*>(&reply), sizeof(reply)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &file, sizeof(int));
  }
  return sendmsg(connection, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(reply));
}

// Returns false if no reply came.
bool ReceiveReply(int connection, Reply* reply, int* file) {
  iovec data = {reply, sizeof(*reply)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = 0;
  do {
    got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* rights = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
      rights->cmsg_len == CMSG_LEN(sizeof(int))) {
    memcpy(file, CMSG_DATA(rights), sizeof(int));
  }
  return got == static_cast<ssize_t>(sizeof(*reply));
}

CUresult ExportHandle(CUmemGenericAllocationHandle handle, int* file) {
  return Real().cuMemExportToShareableHandle(file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                             0);
}

}  // namespace

bool IsTicket(const CUipcMemHandle& handle) {
  return memcmp(handle.reserved, kMagic, sizeof(kMagic)) == 0;
}

TicketAnswer RedeemTicket(const MemoryTicket& ticket) {
  const Address address(ticket.socket);
  const File connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  SetTimeouts(connection.get(), kTimeoutSeconds);
  if (connect(connection.get(), address.get(), address.size) != 0) {
    return {.problem = "the process that shares it has ended, or is in another network namespace"};
  }
  if (!IsSameUser(connection.get())) {
    return {.problem = "the process that shares it is another user's"};
  }
  Reply reply;
  TicketAnswer answer;
  if (send(connection.get(), &ticket, sizeof(ticket), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(sizeof(ticket)) ||
      !ReceiveReply(connection.get(), &reply, &answer.file)) {
    answer.problem = "the process that shares it does not answer";
  } else if (reply.result != CUDA_SUCCESS || answer.file < 0) {
    answer.problem = "the process that shared it has freed it";
  }
  answer.handle_size = reply.handle_size;
  if (answer.problem != nullptr && answer.file >= 0) close(std::exchange(answer.file, -1));
  return answer;
}

// ---- TicketOffice ----

bool TicketOffice::Start() {
  if (socket_.load(std::memory_order_relaxed) >= 0) return true;
  if (getrandom(name_, sizeof(name_), 0) != static_cast<ssize_t>(sizeof(name_))) return false;
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const Address address(name_);
  if (listener < 0 || bind(listener, address.get(), address.size) != 0 ||
      listen(listener, SOMAXCONN) != 0) {
    if (listener >= 0) close(listener);
    return false;
  }
  socket_.store(listener, std::memory_order_release);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, Main, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) {
    pthread_detach(thread);
  } else {
    close(socket_.exchange(-1));
  }
  return started;
}

bool TicketOffice::Issue(const swap::Ledger::Shared& shared, const CUuuid& device,
                         MemoryTicket* ticket) {
  MutexLock lock(mutex_);
  if (!Start()) return false;
  memcpy(ticket->magic, kMagic, sizeof(kMagic));
  memcpy(ticket->socket, name_, sizeof(name_));
  ticket->number = shared.number;
  ticket->offset = shared.offset;
  ticket->size = shared.size;
  memcpy(ticket->device, device.bytes, sizeof(ticket->device));
  return true;
}

bool TicketOffice::IsOwn(const MemoryTicket& ticket) {
  MutexLock lock(mutex_);
  return socket_.load(std::memory_order_relaxed) >= 0 &&
         memcmp(ticket.socket, name_, sizeof(name_)) == 0;
}

void TicketOffice::AfterForkInChild() {
  const int listener = socket_.exchange(-1);
  if (listener >= 0) close(listener);
}

void* TicketOffice::Main(void* argument) {
  auto& office = *static_cast<TicketOffice*>(argument);
  const RelaxedCapture relaxed;
  const int listener = office.socket_.load(std::memory_order_acquire);
  for (;;) {
    const File connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() >= 0) {
      office.Serve(connection.get());
    } else if (errno != EINTR && errno != ECONNABORTED) {
      usleep(10'000);  // out of file descriptors
    }
  }
}

void TicketOffice::Serve(int connection) {
  if (!IsSameUser(connection)) return;
  SetTimeouts(connection, kRequestSeconds);
  MemoryTicket ticket{};
  if (recv(connection, &ticket, sizeof(ticket), 0) != static_cast<ssize_t>(sizeof(ticket))) return;
  Reply reply;
  int file = -1;
  const swap::Ledger::Shared shared = {ticket.number, 0, ticket.offset, ticket.size};
  reply.result = ledger_.ExportShared(shared, ExportHandle, &file, &reply.handle_size);
  const File owned(file);
  SendReply(connection, reply, file);
}

// ---- ImportedMemory ----

CUdeviceptr ImportedMemory::Reopen(const MemoryTicket& ticket, CUcontext context) {
  MutexLock lock(mutex_);
  for (Mapping& mapping : mappings_) {
    if (mapping.context != context || memcmp(&mapping.ticket, &ticket, sizeof(ticket)) != 0) {
      continue;
    }
    ++mapping.references;
    return mapping.address;
  }
  return 0;
}

void ImportedMemory::Add(const Mapping& mapping) {
  MutexLock lock(mutex_);
  mappings_.push_back(mapping);
}

bool ImportedMemory::Close(CUdeviceptr address, Mapping* gone) {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find(mappings_, address, &Mapping::address);
  if (found == mappings_.end()) return false;
  if (--found->references > 0) return true;
  *gone = *found;
  mappings_.erase(found);
  return true;
}

std::vector<ImportedMemory::Mapping> ImportedMemory::TakeOf(CUcontext context) {
  MutexLock lock(mutex_);
  std::vector<Mapping> taken;
  std::erase_if(mappings_, [&](const Mapping& mapping) {
    if (mapping.context != context) return false;
    taken.push_back(mapping);
    return true;
  });
  return taken;
}

bool ImportedMemory::Find(CUdeviceptr address, CUdeviceptr* begin, Bytes* size, int* ordinal) {
  MutexLock lock(mutex_);
  for (const Mapping& mapping : mappings_) {
    if (address - mapping.address >= mapping.ticket.size) continue;
    *begin = mapping.address;
    *size = mapping.ticket.size;
    *ordinal = mapping.ordinal;
    return true;
  }
  return false;
}

}  // namespace reveza::interpose

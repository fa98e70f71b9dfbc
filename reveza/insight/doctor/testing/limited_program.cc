// A program that meets one limit, for the doctor's tests:
//   limited_program address-space|data|mappings  LIBRARY   the library's first use in a thread
//   fails limited_program near-address-space           LIBRARY   is close to it, says so, and waits
//   limited_program promises LIBRARY                       the same, when all is promised that
//   the kernel promises, and none of it used (vm.overcommit_memory is 2)
//   limited_program threads LIMIT                          starts threads until no more may be
//   limited_program allocate BYTES                         touches so much memory, bit by bit
//   limited_program throw BYTES                            allocates so much, at once
//   limited_program load LIBRARY BYTES                     limits its address space, loads, waits
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

constexpr int kCannotTry = 99;

using Touch = char (*)(std::size_t);

struct Late {
  Touch touch = nullptr;
  std::atomic<bool> now{false};
};

void* TouchWhenTold(void* argument) {
  auto* late = static_cast<Late*>(argument);
  while (!late->now) usleep(1000);
  late->touch(5);
  return nullptr;
}

void* WaitForEver(void*) {
  for (;;) pause();
}

rlim_t KibibytesOf(const char* key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(key)) return std::strtoull(line.c_str() + std::strlen(key), nullptr, 10);
  }
  return 0;
}

void Limit(int resource, rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  if (setrlimit(resource, &limit) != 0) std::perror("setrlimit");
}

// Neighbours with other rights are not merged, so each page is a mapping of its own.
void FillMappings() {
  for (int i = 0;; ++i) {
    const int rights = i % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE;
    if (mmap(nullptr, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return;
  }
}

// Until not even a page more is promised.
void TakeAllPromises() {
  for (std::size_t size = std::size_t{1} << 30; size >= 4096; size /= 2) {
    while (mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED) {
    }
  }
}

// Time for whoever watches to see how near it is.
void BeSeen() { usleep(1500 * 1000); }

int Late127(const std::string& mode, const char* library) {
  void* loaded = dlopen(library, RTLD_NOW);
  if (loaded == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  static Late late;
  late.touch = reinterpret_cast<Touch>(dlsym(loaded, "TouchLate"));
  pthread_t thread{};
  if (late.touch == nullptr || pthread_create(&thread, nullptr, TouchWhenTold, &late) != 0)
    return 3;
  constexpr rlim_t kLittle = 64;
  if (mode.ends_with("address-space")) Limit(RLIMIT_AS, (KibibytesOf("VmSize:") + kLittle) << 10);
  if (mode == "data") Limit(RLIMIT_DATA, (KibibytesOf("VmData:") + kLittle) << 10);
  if (mode == "mappings") FillMappings();
  if (mode == "promises") TakeAllPromises();
  if (mode.starts_with("near")) {
    if (write(STDOUT_FILENO, "near\n", 5) != 5) return 3;
    WaitForEver(nullptr);
  }
  BeSeen();
  late.now = true;
  pthread_join(thread, nullptr);
  return 0;
}

// Root is not bound by a limit on processes, and so becomes nobody.
int Threads(rlim_t limit) {
  constexpr uid_t kNobody = 65534;
  Limit(RLIMIT_NPROC, limit);
  if (geteuid() == 0 && setuid(kNobody) != 0) return kCannotTry;
  for (rlim_t i = 0; i < 4 * limit; ++i) {
    pthread_t thread{};
    const int error = pthread_create(&thread, nullptr, WaitForEver, nullptr);
    if (error == 0) continue;
    std::fprintf(stderr, "thread %d: %s\n", static_cast<int>(i), std::strerror(error));
    BeSeen();
    _exit(1);
  }
  _exit(0);
}

int Allocate(std::size_t bytes) {
  BeSeen();
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    auto* piece = static_cast<char*>(std::malloc(kPiece));
    if (piece == nullptr) return 3;
    std::memset(piece, 1, kPiece);
  }
  return 0;
}

int Throw(std::size_t bytes) {
  const std::string text(bytes, 'x');
  return text.back() == 'x' ? 0 : 1;
}

int Load(const char* library, const char* bytes) {
  Limit(RLIMIT_AS, std::strtoull(bytes, nullptr, 10));
  if (dlopen(library, RTLD_NOW) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  WaitForEver(nullptr);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string mode = argv[1];
  if (mode == "threads") return Threads(std::strtoull(argv[2], nullptr, 10));
  if (mode == "allocate") return Allocate(std::strtoull(argv[2], nullptr, 10));
  if (mode == "throw") return Throw(std::strtoull(argv[2], nullptr, 10));
  if (mode == "load" && argc > 3) return Load(argv[2], argv[3]);
  return Late127(mode, argv[2]);
}

// What the static C++ library and libgcc of g++ 12 and our programs take from glibc, but glibc 2.28
// does not have yet. Only in programs that are linked for older distributions (REVEZA_GLIBC).
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INTERNAL __attribute__((visibility("hidden")))

// Since glibc 2.32: false means that reference counts must be atomic, which is always correct.
INTERNAL char __libc_single_threaded = 0;

// Since glibc 2.32.
INTERNAL const char* sigabbrev_np(int number) {
  static const char* const kNames[] = {
      NULL,   "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
  return number > 0 && number < (int)(sizeof kNames / sizeof *kNames) ? kNames[number] : NULL;
}

// Since glibc 2.36.
INTERNAL uint32_t arc4random(void) {
  uint32_t value;
  if (getentropy(&value, sizeof value) != 0) abort();
  return value;
}

// Since glibc 2.34. The system call is there since Linux 5.9; before, descriptors are closed one by
// one.
INTERNAL int close_range(unsigned first, unsigned last, int flags) {
  const long done = syscall(SYS_close_range, first, last, flags);
  if (done == 0 || errno != ENOSYS || flags != 0) return (int)done;
  const long limit = sysconf(_SC_OPEN_MAX);
  for (long file = first; file <= (long)last && file < limit; ++file) close((int)file);
  return 0;
}

struct search {
  uintptr_t address;
  struct dl_find_object* result;
};

// Fills the result if the address is in a segment of the object. Returns 1 then, to end the
// iteration.
static int examine_object(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  struct search* search = data;
  int contains = 0;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  const ElfW(Phdr)* frames = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[i];
    if (segment->p_type == PT_GNU_EH_FRAME) frames = segment;
    if (segment->p_type != PT_LOAD) continue;
    const uintptr_t first = object->dlpi_addr + segment->p_vaddr;
    const uintptr_t last = first + segment->p_memsz;
    if (search->address >= first && search->address < last) contains = 1;
    if (first < begin) begin = first;
    if (last > end) end = last;
  }
  if (!contains || frames == NULL) return 0;
  search->result->dlfo_flags = 0;
  search->result->dlfo_map_start = (void*)begin;
  search->result->dlfo_map_end = (void*)end;
  search->result->dlfo_link_map = NULL;
  search->result->dlfo_eh_frame = (void*)(object->dlpi_addr + frames->p_vaddr);
  return 1;
}

// Since glibc 2.35: how libgcc finds the unwind tables of the code at an address. It reads the
// tables and the bounds only.
INTERNAL int _dl_find_object(void* address, struct dl_find_object* result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(examine_object, &search) == 1 ? 0 : -1;
}

// FAKECUDA_DRIVER: the entries of newer versions are absent, as in the driver of that version.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "fakecuda/entries.h"
#include "fakecuda/options.h"

namespace fakecuda {
namespace {

// The dynamic linker takes a symbol without an address for one that is not defined.
void Hide(const Entry& entry) {
  Dl_info info;
  void* found = nullptr;
  if (dladdr1(entry.function, &info, &found, RTLD_DL_SYMENT) == 0 || found == nullptr) return;
  const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(found) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(found) + sizeof(ElfW(Sym));
  if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0) return;
  static_cast<ElfW(Sym)*>(found)->st_value = 0;
}

// Before anyone can look for an entry.
__attribute__((constructor)) void HideNewerEntries() {
  const int version = DriverVersionFromEnvironment();
  for (int i = 0; i < kEntryCount; ++i) {
    if (kEntries[i].version > version) Hide(kEntries[i]);
  }
}

}  // namespace
}  // namespace fakecuda

// Included before every file of a preloadable library: names the versions of glibc's symbols that
// glibc 2.28 has. Without it the library would need those of the glibc that it is built on, which
// moved the threads and the dynamic linker into libc.so.6 in 2.34. The older glibc has them in
// libpthread.so.0 and libdl.so.2, which the library needs therefore.
#pragma once

#if defined(__x86_64__)
#define REVEZA_GLIBC(name, version) __asm__(".symver " #name ", " #name "@GLIBC_" version);
#elif defined(__aarch64__)
// All that x86-64 had before, aarch64 has from its first version on.
#define REVEZA_GLIBC(name, version) __asm__(".symver " #name ", " #name "@GLIBC_2.17");
#endif
#if defined(REVEZA_GLIBC)
REVEZA_GLIBC(dladdr, "2.2.5")
REVEZA_GLIBC(dlclose, "2.2.5")
REVEZA_GLIBC(dlerror, "2.2.5")
REVEZA_GLIBC(dlopen, "2.2.5")
REVEZA_GLIBC(dlvsym, "2.2.5")
REVEZA_GLIBC(pthread_condattr_setclock, "2.3.3")
REVEZA_GLIBC(pthread_create, "2.2.5")
REVEZA_GLIBC(pthread_detach, "2.2.5")
REVEZA_GLIBC(pthread_join, "2.2.5")
REVEZA_GLIBC(pthread_key_create, "2.2.5")
REVEZA_GLIBC(pthread_once, "2.2.5")
REVEZA_GLIBC(pthread_setspecific, "2.2.5")
REVEZA_GLIBC(pthread_sigmask, "2.2.5")
#undef REVEZA_GLIBC
#endif
// Headers of glibc 2.38 and newer rename it to one that also reads binary numbers.
#if defined(__x86_64__)
__asm__(".symver __isoc23_strtoull, strtoull@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver __isoc23_strtoull, strtoull@GLIBC_2.17");
#endif

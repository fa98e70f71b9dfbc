/* For programs that know that they share a GPU: gives the slice up early, or keeps it for a moment.
 * Requires only this header; without Reveza, or before the first GPU context, nothing happens.
 *
 *     #include "reveza.h"
 *     reveza_yield();                   nothing to do for a while: others may have the GPU
 *     reveza_hold();                    what follows should not be interrupted ...
 *     answer(request);
 *     reveza_release();                 ... until here
 *
 * A hold begins with the next slice if the program is not in one, and lasts for at most
 * `slice_ceiling` (30 s by default). Holds nest, and count for the whole process. Thread-safe. C99
 * and C++11; link with -ldl before glibc 2.34.
 */
#ifndef REVEZA_H
#define REVEZA_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#include <string.h>

static inline void reveza_call_(const char *name) {
  void *const found = dlsym(RTLD_DEFAULT, name);
  void (*call)(void);
  if (found == NULL) return;
  memcpy(&call, &found, sizeof call);
  call();
}

static inline void reveza_yield(void) { reveza_call_("revezaYield"); }
static inline void reveza_hold(void) { reveza_call_("revezaHold"); }
static inline void reveza_release(void) { reveza_call_("revezaRelease"); }

#endif

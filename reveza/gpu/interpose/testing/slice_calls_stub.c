/* Stands in for libreveza.so: prints what is called. */
#include <stdio.h>

static void print(const char *what) {
  puts(what);
  fflush(stdout);
}
void revezaYield(void) { print("yield"); }
void revezaHold(void) { print("hold"); }
void revezaRelease(void) { print("release"); }

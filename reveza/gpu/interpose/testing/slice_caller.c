/* Calls all of reveza.h. Built as C99 and as C++11. */
#include <stdio.h>

#include "reveza.h"

int main(void) {
  reveza_yield();
  reveza_hold();
  puts("answer");
  fflush(stdout);
  reveza_release();
  return 0;
}

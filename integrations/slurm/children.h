// Programs that the plugin runs.
#pragma once

#include <stddef.h>

enum { kBudget = 4, kNoDaemon = 7 };  // exit statuses of `reveza` (docs/errors.md)

// What a program wrote. Both texts end with '\0', which size does not count.
struct output {
  char *text;
  size_t size;
  char *errors;
};

// Runs a program as the effective user, for at most 30 s. `environment` may be NULL: that of this
// process. Returns its exit status; 128 and the signal that ended it; -1 if it cannot be started.
int run_program(char *const command[], char *const environment[], struct output *output);

void free_output(struct output *output);

// Calls a function in a process of its own, which nothing waits for and which outlives this one.
void detach(void (*function)(void *), void *argument);

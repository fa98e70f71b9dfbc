/* Reports the progress of a program that runs numbered steps in one process to `reveza jobs`.
 * Reported steps are remembered; after a crash the program is restarted at the first missing step.
 * Requires only this header and POSIX. Without Reveza a line is printed instead:
 *
 *     reveza step 57 phi=0.61 loss=0.001
 *
 *     #include "reveza_step.h"
 *     REVEZA_STEP(i);
 *     REVEZA_STEP(i, {"phi", phi}, {"loss", loss});
 *
 * Report a step after all its results have been written: it will not be run again.
 *
 * The line is written to the descriptor in REVEZA_STEP_FD, or to standard output, and flushed. C99
 * and C++11. Thread-safe as long as no thread modifies the environment.
 */
#ifndef REVEZA_STEP_H
#define REVEZA_STEP_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names consist of letters, digits, '_', '.', '-' and '/', begin with a letter or '_', and have at
 * most 64 characters. */
struct reveza_metric {
  const char *name;
  double value;
};

/* Maximum line length including the newline; fits PIPE_BUF, so writes to a pipe are atomic. */
#define REVEZA_STEP_MAX_LINE 4096

static inline int reveza_step_write_(int descriptor, const char *line, size_t length) {
  while (length > 0) {
    const ssize_t wrote = write(descriptor, line, length);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return -1;
    line += wrote;
    length -= (size_t)wrote;
  }
  return 0;
}

/* Reports a step. Returns 0, or -1 if the line could not be written. Omits metrics that are not
 * finite or do not fit the line. Preserves errno. */
static inline int reveza_step(unsigned long long number, const struct reveza_metric *metrics,
                              size_t count) {
  const int error = errno;
  char line[REVEZA_STEP_MAX_LINE + 1];
  const int begun = snprintf(line, sizeof line, "reveza step %llu", number);
  size_t length = begun > 0 ? (size_t)begun : 0;
  for (size_t i = 0; i < count; ++i) {
    char value[64];
    if (metrics[i].value - metrics[i].value != 0) continue; /* NaN or infinity */
    snprintf(value, sizeof value, "%.17g", metrics[i].value);
    /* Some locales use a decimal comma. */
    for (char *c = value; *c != '\0'; ++c) {
      if (*c == ',') *c = '.';
    }
    if (length + strlen(metrics[i].name) + strlen(value) + 3 > REVEZA_STEP_MAX_LINE) break;
    const int added =
        snprintf(line + length, sizeof line - length, " %s=%s", metrics[i].name, value);
    if (added > 0) length += (size_t)added;
  }
  line[length++] = '\n';

  int result = -1;
  const char *named = getenv("REVEZA_STEP_FD");
  if (named != NULL && *named >= '0' && *named <= '9') {
    result = reveza_step_write_((int)strtol(named, NULL, 10), line, length);
  }
  /* REVEZA_STEP_FD is unset, or not open in this process. */
  if (result != 0)
    result = fwrite(line, 1, length, stdout) == length && fflush(stdout) == 0 ? 0 : -1;
  errno = error;
  return result;
}

/* REVEZA_STEP(number) or REVEZA_STEP(number, {"name", value}, ...). */
#define REVEZA_STEP(...) REVEZA_STEP_(__VA_ARGS__, {NULL, 0})
#define REVEZA_STEP_(number_, ...)                                       \
  do {                                                                   \
    const struct reveza_metric reveza_metrics_[] = {__VA_ARGS__};        \
    reveza_step((number_), reveza_metrics_,                              \
                sizeof reveza_metrics_ / sizeof reveza_metrics_[0] - 1); \
  } while (0)

#endif

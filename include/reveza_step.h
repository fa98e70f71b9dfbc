/* For programs that make numbered steps in one process and want `reveza jobs` to know of each: what
 * was reported is kept, and after a crash the program is started again at the first step that is
 * missing. Needs nothing but this file and POSIX, and does no harm where Reveza is not: then a line
 * is printed,
 *
 *     reveza step 57 phi=0.61 loss=0.001
 *
 *     #include "reveza_step.h"
 *     REVEZA_STEP(i);
 *     REVEZA_STEP(i, {"phi", phi}, {"loss", loss});
 *
 * Report a step when all that it was to leave behind is written: it is not made again.
 *
 * The line goes to the descriptor that REVEZA_STEP_FD names, else to standard output, and is
 * flushed. C99 and C++11. Safe from several threads while none of them changes the environment.
 */
#ifndef REVEZA_STEP_H
#define REVEZA_STEP_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name begins with a letter or '_'; then letters, digits, '_', '.', '-' and '/', 64 in all. */
struct reveza_metric {
  const char *name;
  double value;
};

/* One line, at most 4095 characters and its end: written to a pipe in one piece. */
#define REVEZA_STEP_LONGEST 4096

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

/* 0, or -1 when nothing could be written. A metric that is not finite, or does not fit the line, is
 * left out. errno is kept. */
static inline int reveza_step(unsigned long long number, const struct reveza_metric *metrics,
                              size_t count) {
  const int error = errno;
  char line[REVEZA_STEP_LONGEST + 1];
  size_t length = (size_t)snprintf(line, sizeof line, "reveza step %llu", number);
  for (size_t i = 0; i < count; ++i) {
    char value[64];
    if (metrics[i].value - metrics[i].value != 0) continue; /* not a number, or infinite */
    snprintf(value, sizeof value, "%.17g", metrics[i].value);
    /* In some languages a comma stands before the decimals. */
    for (char *c = value; *c != '\0'; ++c) {
      if (*c == ',') *c = '.';
    }
    if (length + strlen(metrics[i].name) + strlen(value) + 3 > REVEZA_STEP_LONGEST) break;
    length +=
        (size_t)snprintf(line + length, sizeof line - length, " %s=%s", metrics[i].name, value);
  }
  line[length++] = '\n';

  int result = -1;
  const char *named = getenv("REVEZA_STEP_FD");
  if (named != NULL && *named >= '0' && *named <= '9') {
    result = reveza_step_write_((int)strtol(named, NULL, 10), line, length);
  }
  /* Not set, or a descriptor that this process was not given. */
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

#define _GNU_SOURCE
#include "epilog.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "children.h"
#include "settings.h"

enum { kMaxEnvironment = 4 << 20, kText = 512 };

// Returns whether a process of the user has the variable. `folder` is its folder in /proc.
static bool has_variable(int folder, const char *variable, uid_t user) {
  struct stat info;
  if (fstat(folder, &info) != 0 || info.st_uid != user) return false;
  const int file = openat(folder, "environ", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char *text = malloc(kMaxEnvironment + 1);
  size_t size = 0;
  for (ssize_t got = 1; text != NULL && size < kMaxEnvironment && got > 0;
       size += got > 0 ? (size_t)got : 0) {
    got = read(file, text + size, kMaxEnvironment - size);
  }
  close(file);
  bool found = false;
  if (text != NULL) text[size] = '\0';
  for (const char *at = text; text != NULL && at < text + size && !found; at += strlen(at) + 1) {
    found = strcmp(at, variable) == 0;
  }
  free(text);
  return found;
}

static int kill_once(const char *variable, uid_t user) {
  DIR *processes = opendir("/proc");
  if (processes == NULL) return 0;
  int count = 0;
  for (struct dirent *entry = readdir(processes); entry != NULL; entry = readdir(processes)) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    const int folder = openat(dirfd(processes), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) continue;
    // The folder stands for the process, which its number may not any more.
    if (has_variable(folder, variable, user) &&
        syscall(SYS_pidfd_send_signal, folder, SIGKILL, NULL, 0) == 0)
      ++count;
    close(folder);
  }
  closedir(processes);
  return count;
}

int end_processes(const char *number, uid_t user) {
  char variable[kName];
  snprintf(variable, sizeof(variable), "REVEZA_JOB=%s", number);
  int total = 0;
  // What was just being started may have escaped the first time.
  for (int tries = 0; tries < 10; ++tries) {
    const int count = kill_once(variable, user);
    if (count == 0) break;
    total += count;
    usleep(50 * 1000);
  }
  return total;
}

// What `reveza usage` counts, summed over the rows of a job.
struct usage {
  double gpu_seconds;
  double wait_seconds;
  double turns;
  double bytes_out;
  double bytes_in;
  int rows;
};

// Returns the length of a field of CSV. Users choose the names of their programs.
static size_t field_length(const char *at) {
  if (*at != '"') return strcspn(at, ",\n");
  size_t length = 1;
  while (at[length] != '\0') {
    if (at[length] != '"') {
      ++length;
    } else if (at[length + 1] == '"') {
      length += 2;
    } else {
      return length + 1;
    }
  }
  return length;
}

static bool starts(const char *field, size_t length, const char *name) {
  return strncmp(field, name, strlen(name)) == 0 && length >= strlen(name);
}

static void add_field(struct usage *usage, const char *column, size_t length, double value) {
  if (starts(column, length, "gpu_s")) usage->gpu_seconds += value;
  if (starts(column, length, "wait_")) usage->wait_seconds += value;
  if (starts(column, length, "turns")) usage->turns += value;
  if (starts(column, length, "bytes_out")) usage->bytes_out += value;
  if (starts(column, length, "bytes_in")) usage->bytes_in += value;
}

// Adds up the rows whose first column is the number of the job. The first line has the columns.
static struct usage sum_rows(const char *csv, const char *number) {
  struct usage usage = {0};
  const size_t digits = strlen(number);
  for (const char *at = csv; *at != '\0';) {
    const bool counts = strncmp(at, number, digits) == 0 && at[digits] == ',';
    usage.rows += counts ? 1 : 0;
    for (const char *column = csv; *at != '\0' && *at != '\n';) {
      const size_t length = field_length(column);
      if (counts) add_field(&usage, column, length, strtod(at, NULL));
      column += length + (column[length] == ',' ? 1 : 0);
      at += field_length(at);
      if (*at == ',') ++at;
    }
    if (*at == '\n') ++at;
  }
  return usage;
}

static bool write_usage(const char *csv, const char *number, char *to, size_t size) {
  const struct usage usage = sum_rows(csv, number);
  snprintf(to, size, "reveza: gpu_s=%.3f wait_s=%.3f turns=%.0f bytes_out=%.0f bytes_in=%.0f",
           usage.gpu_seconds, usage.wait_seconds, usage.turns, usage.bytes_out, usage.bytes_in);
  return usage.rows > 0;
}

bool usage_of_job(const char *number, char *to, size_t size) {
  char socket[kPath + 16];
  snprintf(socket, sizeof(socket), "REVEZA_SOCKET=%s", settings.socket);
  char *const environment[] = {socket, NULL};
  char *const status[] = {settings.reveza, "status", "--json", NULL};
  char *const usage[] = {settings.reveza, "usage", "--csv", NULL};
  struct output output = {0};
  // The daemon writes down what a process used once it sees its end.
  for (int tries = 0; tries < 10; ++tries) {
    const bool there =
        run_program(status, environment, &output) == 0 && strstr(output.text, number) != NULL;
    free_output(&output);
    if (!there) break;
    usleep(100 * 1000);
  }
  const bool found =
      run_program(usage, environment, &output) == 0 && write_usage(output.text, number, to, size);
  free_output(&output);
  return found;
}

void comment_on_job(uint32_t job, const char *text) {
  char id[kName];
  char comment[kText];
  snprintf(id, sizeof(id), "JobId=%u", job);
  snprintf(comment, sizeof(comment), "AdminComment=%s", text);
  char *const command[] = {settings.scontrol, "update", id, comment, NULL};
  struct output output = {0};
  run_program(command, NULL, &output);  // a job that was cancelled cannot be changed any more
  free_output(&output);
}

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

// Returns the field with that number of a line of CSV, without quotes: ours has none in numbers.
static double number_of(const char *header, const char *line, const char *name) {
  const size_t length = strlen(name);
  while (*header != '\0' && *header != '\n') {
    const bool found =
        strncmp(header, name, length) == 0 && (header[length] == ',' || header[length] == '\n');
    if (found) return strtod(line, NULL);
    header += strcspn(header, ",\n");
    line += strcspn(line, ",\n");
    if (*header == ',') ++header;
    if (*line == ',') ++line;
  }
  return 0;
}

static double all_waits(const char *header, const char *line) {
  static const char *const kWaits[] = {
      "wait_handover_s",   "wait_turn_s",         "wait_context_s",
      "wait_gpu_memory_s", "wait_host_memory_s",  "wait_unpreemptible_s",
      "wait_queue_s",      "wait_unresponsive_s", "wait_paused_s"};
  double sum = 0;
  for (size_t i = 0; i < sizeof(kWaits) / sizeof(kWaits[0]); ++i)
    sum += number_of(header, line, kWaits[i]);
  return sum;
}

// Writes what is recorded of the job. Returns false if nothing is.
static bool write_usage(const char *csv, const char *number, char *to, size_t size) {
  char start[kName + 2];
  snprintf(start, sizeof(start), "\n%s,", number);
  const char *line = strstr(csv, start);
  if (line == NULL) return false;
  ++line;
  snprintf(to, size, "reveza: gpu_s=%.3f wait_s=%.3f turns=%.0f bytes_out=%.0f bytes_in=%.0f",
           number_of(csv, line, "gpu_s"), all_waits(csv, line), number_of(csv, line, "turns"),
           number_of(csv, line, "bytes_out"), number_of(csv, line, "bytes_in"));
  return true;
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

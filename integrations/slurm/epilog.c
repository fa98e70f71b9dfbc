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
  for (ssize_t got = 1; text != NULL && size < kMaxEnvironment && got > 0; size += got > 0 ? (size_t)got : 0) {
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
    // The number is the process's as long as the folder can be read, which was opened before.
    if (has_variable(folder, variable, user) && kill((pid_t)atoi(entry->d_name), SIGKILL) == 0) ++count;
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

struct record {
  char number[kName];
  char id[kName];
};

// Returns the field with that number of a line of CSV, without quotes: ours has none in numbers.
static double number_of(const char *header, const char *line, const char *name) {
  const size_t length = strlen(name);
  while (*header != '\0' && *header != '\n') {
    const bool found = strncmp(header, name, length) == 0 && (header[length] == ',' || header[length] == '\n');
    if (found) return strtod(line, NULL);
    header += strcspn(header, ",\n");
    line += strcspn(line, ",\n");
    if (*header == ',') ++header;
    if (*line == ',') ++line;
  }
  return 0;
}

static double all_waits(const char *header, const char *line) {
  static const char *const kWaits[] = {"wait_handover_s",    "wait_turn_s",          "wait_context_s",
                                       "wait_gpu_memory_s",  "wait_host_memory_s",   "wait_unpreemptible_s",
                                       "wait_queue_s",       "wait_unresponsive_s",  "wait_paused_s"};
  double sum = 0;
  for (size_t i = 0; i < sizeof(kWaits) / sizeof(kWaits[0]); ++i) sum += number_of(header, line, kWaits[i]);
  return sum;
}

// Returns false if nothing is recorded of the job.
static bool write_comment(const char *csv, const struct record *record, char *to, size_t size) {
  char start[kName + 2];
  snprintf(start, sizeof(start), "\n%s,", record->number);
  const char *line = strstr(csv, start);
  if (line == NULL) return false;
  ++line;
  snprintf(to, size, "AdminComment=reveza: gpu_s=%.3f wait_s=%.3f turns=%.0f bytes_out=%.0f bytes_in=%.0f",
           number_of(csv, line, "gpu_s"), all_waits(csv, line), number_of(csv, line, "turns"),
           number_of(csv, line, "bytes_out"), number_of(csv, line, "bytes_in"));
  return true;
}

static void record_later(void *argument) {
  struct record *record = argument;
  char comment[kText];
  char *const ask[] = {settings.reveza, "usage", "--csv", "--socket", settings.socket, NULL};
  char *const tell[] = {settings.scontrol, "update", record->id, comment, NULL};
  for (int tries = 0; tries < 5; ++tries) {
    sleep(1);  // the daemon writes when the last process has ended
    struct output output = {0};
    const bool found = run_program(ask, NULL, &output) == 0 && write_comment(output.text, record, comment, sizeof(comment));
    free_output(&output);
    if (!found) continue;
    const int status = run_program(tell, NULL, &output);
    free_output(&output);
    if (status == 0) return;
  }
}

void record_usage(const char *number, uint32_t job) {
  struct record record;
  snprintf(record.number, sizeof(record.number), "%s", number);
  snprintf(record.id, sizeof(record.id), "JobId=%u", job);
  detach(record_later, &record);
}

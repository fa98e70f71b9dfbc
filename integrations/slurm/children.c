#define _GNU_SOURCE
#include "children.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSeconds = 30 };

extern char **environ;

static char *read_all(int file, size_t *size) {
  const off_t length = lseek(file, 0, SEEK_END);
  char *text = malloc(length > 0 ? (size_t)length + 1 : 1);
  if (text == NULL) return NULL;
  const ssize_t got = length > 0 ? pread(file, text, (size_t)length, 0) : 0;
  *size = got > 0 ? (size_t)got : 0;
  text[*size] = '\0';
  return text;
}

static void execute(char *const command[], char *const environment[], const int files[2]) {
  const gid_t group = getegid();
  const uid_t user = geteuid();
  // slurmstepd is root that acts as the user: so it could become root again.
  if (setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0) _exit(126);
  // Prologs have no standard output: these may have its number.
  const int null = open("/dev/null", O_RDONLY);
  const int out = fcntl(files[0], F_DUPFD, 3);
  const int errors = fcntl(files[1], F_DUPFD, 3);
  if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0) _exit(126);
  close_range(3, ~0U, 0);
  alarm(kSeconds);
  execve(command[0], command, environment != NULL ? environment : environ);
  static const char kError[] = "reveza: cannot run the program that plugstack.conf names\n";
  const ssize_t written = write(2, kError, sizeof(kError) - 1);
  _exit(written > 0 ? 127 : 126);
}

int run_program(char *const command[], char *const environment[], struct output *output) {
  // Where SIGCHLD is ignored, as in prologs, nothing could be waited for.
  struct sigaction before;
  const struct sigaction usual = {.sa_handler = SIG_DFL};
  sigaction(SIGCHLD, &usual, &before);
  const int files[2] = {memfd_create("output", MFD_CLOEXEC), memfd_create("errors", MFD_CLOEXEC)};
  int status = 0;
  pid_t child = -1;
  if (files[0] >= 0 && files[1] >= 0) child = fork();
  if (child == 0) execute(command, environment, files);
  if (child < 0 || waitpid(child, &status, 0) != child) {
    status = -1;
  } else {
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    size_t size = 0;
    output->text = read_all(files[0], &output->size);
    output->errors = read_all(files[1], &size);
    if (output->text == NULL || output->errors == NULL) status = -1;
  }
  for (int i = 0; i < 2; ++i) {
    if (files[i] >= 0) close(files[i]);
  }
  sigaction(SIGCHLD, &before, NULL);
  return status;
}

void free_output(struct output *output) {
  free(output->text);
  free(output->errors);
  *output = (struct output){0};
}

void detach(void (*function)(void *), void *argument) {
  const pid_t child = fork();
  if (child == 0) {
    if (fork() == 0) {
      setsid();
      const int null = open("/dev/null", O_RDWR);
      for (int file = 0; null >= 0 && file < 3; ++file) dup2(null, file);
      close_range(3, ~0U, 0);
      function(argument);
    }
    _exit(0);
  }
  if (child > 0) waitpid(child, NULL, 0);
}

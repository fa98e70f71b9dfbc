// `reveza-supervisor SOCKET RECORD`: started by a job runner for each worker.
#include <cstdio>
#include <cstdlib>

#include "reveza/jobs/supervisor/supervisor.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs(
        "reveza-supervisor: internal program of `reveza jobs`; it cannot be started by hand\n",
        stderr);
    return 2;
  }
  return reveza::jobs::Supervise(std::atoi(argv[1]), argv[2]);
}

// `reveza-supervisor SOCKET RECORD`: started by the runner, one beside each worker.
#include <cstdio>
#include <cstdlib>

#include "runner/supervisor/supervisor.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs(
        "reveza-supervisor: the runner of `reveza jobs` starts it; it is of no use by hand\n",
        stderr);
    return 2;
  }
  return reveza::runner::Supervise(std::atoi(argv[1]), argv[2]);
}

// A job step for fault tests: `testing_job_step FOLDER NUMBER MILLISECONDS`. Appends NUMBER to the
// files `begun` and `finished` in FOLDER, and to `overlaps` if another attempt of the step is
// alive.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

void Append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    _exit(3);
  }
  close(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string folder = argv[1];
  const std::string number = argv[2];
  const int lock = open((folder + "/live-" + number).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) Append(folder + "/overlaps", number + "\n");
  Append(folder + "/begun", number + "\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[3])));
  Append(folder + "/finished", number + "\n");
  return 0;
}

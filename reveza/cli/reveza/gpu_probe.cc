#include "reveza/cli/reveza/gpu_probe.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "common/base/unique_fd.h"
#include "common/platform/shared_library.h"

namespace reveza::cli {
namespace {

struct Answer {
  Bytes total = 0;
  char name[128] = {};
};

// Runs in the child. Plain types suffice: the driver's C interface is stable.
bool QueryDriver(Answer& answer) {
  const auto driver = platform::OpenCudaDriver();
  if (!driver) return false;
  auto* init = driver->Symbol<int(unsigned)>("cuInit");
  auto* count = driver->Symbol<int(int*)>("cuDeviceGetCount");
  auto* get = driver->Symbol<int(int*, int)>("cuDeviceGet");
  auto* total = driver->Symbol<int(std::size_t*, int)>("cuDeviceTotalMem_v2");
  auto* get_name = driver->Symbol<int(char*, int, int)>("cuDeviceGetName");
  if (init == nullptr || count == nullptr || get == nullptr || total == nullptr) return false;
  int devices = 0;
  int device = 0;
  std::size_t bytes = 0;
  if (init(0) != 0 || count(&devices) != 0 || devices == 0 || get(&device, 0) != 0 ||
      total(&bytes, device) != 0) {
    return false;
  }
  answer.total = bytes;
  if (get_name != nullptr) {
    get_name(answer.name, static_cast<int>(sizeof(answer.name)) - 1, device);
  }
  return true;
}

}  // namespace

std::optional<ProbedGpu> ProbeGpu() {
  auto pipe = MakePipe();
  if (!pipe) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    // Discards the driver's messages.
    const int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, STDERR_FILENO);
    Answer answer;
    if (!QueryDriver(answer)) _exit(1);
    _exit(write(pipe->writer.get(), &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
  }
  pipe->writer.Reset();
  Answer answer;
  const ssize_t got = child < 0 ? -1 : read(pipe->reader.get(), &answer, sizeof(answer));
  if (child > 0) waitpid(child, nullptr, 0);
  if (got != sizeof(answer)) return std::nullopt;
  answer.name[sizeof(answer.name) - 1] = '\0';
  return ProbedGpu{answer.total, answer.name};
}

}  // namespace reveza::cli

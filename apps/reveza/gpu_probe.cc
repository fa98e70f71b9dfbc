#include "gpu_probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/unique_fd.h"

namespace reveza::cli {
namespace {

struct Answer {
  Bytes total = 0;
  char name[128] = {};
};

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// In the child. Plain types: the driver's interface is stable C.
bool Ask(const std::string& folder, Answer& answer) {
  const std::string name = folder.empty() ? "libcuda.so.1" : folder + "/libcuda.so.1";
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*total)(std::size_t*, int) = nullptr;
  int (*get_name)(char*, int, int) = nullptr;
  if (!Find(library, "cuInit", init) || !Find(library, "cuDeviceGetCount", count) ||
      !Find(library, "cuDeviceGet", get) || !Find(library, "cuDeviceTotalMem_v2", total)) {
    return false;
  }
  int devices = 0;
  int device = 0;
  std::size_t bytes = 0;
  if (init(0) != 0 || count(&devices) != 0 || devices == 0 || get(&device, 0) != 0 ||
      total(&bytes, device) != 0) {
    return false;
  }
  answer.total = bytes;
  if (Find(library, "cuDeviceGetName", get_name)) {
    get_name(answer.name, static_cast<int>(sizeof(answer.name)) - 1, device);
  }
  return true;
}

}  // namespace

std::optional<ProbedGpu> ProbeGpu(const std::string& library_folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    // A driver that complains does so to nobody.
    const int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, STDERR_FILENO);
    Answer answer;
    if (!Ask(library_folder, answer)) _exit(1);
    _exit(write(write_end.get(), &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
  }
  write_end.Reset();
  Answer answer;
  const ssize_t got = child < 0 ? -1 : read(read_end.get(), &answer, sizeof(answer));
  if (child > 0) waitpid(child, nullptr, 0);
  if (got != sizeof(answer)) return std::nullopt;
  answer.name[sizeof(answer.name) - 1] = '\0';
  return ProbedGpu{answer.total, answer.name};
}

}  // namespace reveza::cli

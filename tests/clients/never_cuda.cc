// Makes no CUDA call. Reports what a preloaded library added: threads, sockets, the driver.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

std::uint64_t CountEntries(const char* folder, bool sockets_only) {
  DIR* directory = opendir(folder);
  if (directory == nullptr) Die(std::string("cannot read ") + folder);
  std::uint64_t count = 0;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    struct stat about{};
    const bool is_socket =
        fstatat(dirfd(directory), entry->d_name, &about, 0) == 0 && S_ISSOCK(about.st_mode);
    if (!sockets_only || is_socket) ++count;
  }
  closedir(directory);
  return count;
}

std::uint64_t MappingsOf(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) ++count;
  }
  return count;
}

int Main(const Options& options) {
  // Sockets inherited from the shell are not counted.
  const std::uint64_t inherited = options.Extra("inherited-sockets");
  StepRun run(options);
  const std::uint64_t sockets = CountEntries("/proc/self/fd", true);
  run.Count("threads", CountEntries("/proc/self/task", false));
  run.Count("sockets", sockets > inherited ? sockets - inherited : 0);
  run.Count("driver_mapped", MappingsOf("libcuda.so") > 0 ? 1 : 0);
  run.Count("library_mapped", MappingsOf("libreveza.so") > 0 ? 1 : 0);
  return run.Finish(0);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(
      reveza::clients::OptionsOrExit(argc, argv, "never_cuda", {{"inherited-sockets", 0}}));
}

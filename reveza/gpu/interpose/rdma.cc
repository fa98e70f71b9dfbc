#include "reveza/gpu/interpose/rdma.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace reveza::interpose {
namespace {

constexpr char kVerbs[] = "/dev/infiniband/uverbs";
constexpr std::size_t kPathCapacity = 4096;

bool Exists(const char* root, const char* path) {
  char full[kPathCapacity];
  snprintf(full, sizeof(full), "%s%s", root, path);
  return access(full, F_OK) == 0;
}

bool HasVerbsDeviceOpen(const char* root) {
  char path[kPathCapacity];
  snprintf(path, sizeof(path), "%s/proc/self/fd", root);
  DIR* descriptors = opendir(path);
  if (descriptors == nullptr) return true;  // assume so if it cannot be checked
  bool open = false;
  while (const dirent* entry = open ? nullptr : readdir(descriptors)) {
    char target[sizeof(kVerbs)];
    const ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof(target));
    open = length >= static_cast<ssize_t>(strlen(kVerbs)) &&
           memcmp(target, kVerbs, strlen(kVerbs)) == 0;
  }
  closedir(descriptors);
  return open;
}

}  // namespace

bool MayBeRegisteredForRdma(const char* root) {
  const bool loaded =
      Exists(root, "/sys/module/nvidia_peermem") || Exists(root, "/sys/module/nv_peer_mem");
  return loaded && HasVerbsDeviceOpen(root);
}

}  // namespace reveza::interpose

// Headroom of host memory. Libc only (part of libreveza.so).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "reveza/gpu/swap/arena.h"

namespace reveza::swap {
namespace {

constexpr Bytes kUnlimited = ~Bytes{0};
constexpr std::size_t kPathCapacity = 4096;

// kExhausted: the file may exist, but there is no descriptor or memory to read it.
enum class Read { kDone, kMissing, kExhausted };

// Reads at most capacity - 1 bytes and NUL-terminates.
Read ReadFile(const char* path, char* out, std::size_t capacity) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    return exhausted ? Read::kExhausted : Read::kMissing;
  }
  std::size_t size = 0;
  while (size + 1 < capacity) {
    const ssize_t got = read(fd, out + size, capacity - 1 - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  close(fd);
  out[size] = '\0';
  return size > 0 ? Read::kDone : Read::kMissing;
}

// Substitute for a value that was not read: a limit that cannot be checked counts as reached.
Bytes DefaultFor(Read read) { return read == Read::kExhausted ? 0 : kUnlimited; }

// Reads the number in a cgroup file; "max" and a missing file mean unlimited.
Bytes ReadNumber(const char* path) {
  char text[64];
  if (const Read read = ReadFile(path, text, sizeof(text)); read != Read::kDone) {
    return DefaultFor(read);
  }
  char* end = nullptr;
  const unsigned long long value = strtoull(text, &end, 10);
  return end == text ? kUnlimited : value;
}

Bytes Available(const char* root) {
  char path[kPathCapacity];
  snprintf(path, sizeof(path), "%s/proc/meminfo", root);
  char text[4096];
  if (const Read read = ReadFile(path, text, sizeof(text)); read != Read::kDone) {
    return DefaultFor(read);
  }
  const char* line = strstr(text, "MemAvailable:");
  if (line == nullptr) return kUnlimited;
  return strtoull(line + strlen("MemAvailable:"), nullptr, 10) * kKiB;
}

// Returns the smallest limit - usage from `group` up to the root of the hierarchy at `mount`.
Bytes WalkUp(const char* root, const char* mount, const char* group, const char* limit_file,
             const char* usage_file) {
  char level[kPathCapacity];
  snprintf(level, sizeof(level), "%s", group);
  Bytes smallest = kUnlimited;
  for (;;) {
    char path[2 * kPathCapacity];
    snprintf(path, sizeof(path), "%s%s%s/%s", root, mount, level, limit_file);
    const Bytes limit = ReadNumber(path);
    if (limit != kUnlimited) {
      snprintf(path, sizeof(path), "%s%s%s/%s", root, mount, level, usage_file);
      const Bytes usage = ReadNumber(path);
      const Bytes left = usage == kUnlimited ? limit : (usage < limit ? limit - usage : 0);
      if (left < smallest) smallest = left;
    }
    char* slash = strrchr(level, '/');
    if (slash == nullptr) return smallest;
    *slash = '\0';
  }
}

}  // namespace

Bytes HostHeadroom(const char* root) {
  Bytes smallest = Available(root);
  char path[kPathCapacity];
  snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
  char groups[8192];
  if (const Read read = ReadFile(path, groups, sizeof(groups)); read != Read::kDone) {
    return read == Read::kExhausted ? 0 : smallest;
  }
  char* save = nullptr;
  for (char* line = strtok_r(groups, "\n", &save); line != nullptr;
       line = strtok_r(nullptr, "\n", &save)) {
    char* controllers = strchr(line, ':');
    char* group = controllers == nullptr ? nullptr : strchr(controllers + 1, ':');
    if (group == nullptr) continue;
    *group++ = '\0';
    ++controllers;
    if (strcmp(group, "/") == 0) group[0] = '\0';
    Bytes left = kUnlimited;
    if (controllers[0] == '\0') {
      left = WalkUp(root, "/sys/fs/cgroup", group, "memory.max", "memory.current");
    } else if (strstr(controllers, "memory") != nullptr) {
      left = WalkUp(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
                    "memory.usage_in_bytes");
    }
    if (left < smallest) smallest = left;
  }
  return smallest;
}

}  // namespace reveza::swap

#include "common/platform/memory_headroom.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace reveza::platform {
namespace {

constexpr Bytes kUnlimited = ~Bytes{0};
// Version 1 reports "no limit" as a number close to 2^63.
constexpr Bytes kVersion1NoLimit = Bytes{1} << 60;

// The lines of a file, of any length.
class LineReader {
 public:
  explicit LineReader(const char* path) : file_(fopen(path, "re")) {
    exhausted_ = file_ == nullptr && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
  }
  ~LineReader() {
    free(line_);
    if (file_ != nullptr) fclose(file_);
  }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Returns the next line without its end, or null.
  char* Next() {
    if (file_ == nullptr) return nullptr;
    const ssize_t length = getline(&line_, &capacity_, file_);
    if (length < 0) return nullptr;
    if (length > 0 && line_[length - 1] == '\n') line_[length - 1] = '\0';
    return line_;
  }
  GroupReading missing() const {
    return exhausted_ ? GroupReading::kUnreadable : GroupReading::kNone;
  }
  bool exhausted() const { return exhausted_; }

 private:
  FILE* file_;
  char* line_ = nullptr;
  std::size_t capacity_ = 0;
  bool exhausted_ = false;
};

struct Number {
  GroupReading state = GroupReading::kNone;
  Bytes value = 0;
};

// Reads the number in a file; "max" and a missing file are kNone.
Number ReadNumberFile(const char* folder, const char* name) {
  char path[2 * kMaxGroupPath + 64];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  LineReader file(path);
  const char* line = file.Next();
  if (line == nullptr) return {file.missing(), 0};
  char* end = nullptr;
  const Bytes value = strtoull(line, &end, 10);
  if (end == line) return {};
  return {GroupReading::kFound, value};
}

bool ListContains(const char* list, const char* word) {
  const std::size_t length = strlen(word);
  for (const char* at = list; at != nullptr && *at != '\0';) {
    const char* comma = strchr(at, ',');
    const std::size_t size = comma == nullptr ? strlen(at) : static_cast<std::size_t>(comma - at);
    if (size == length && strncmp(at, word, size) == 0) return true;
    at = comma == nullptr ? nullptr : comma + 1;
  }
  return false;
}

void ProcessFile(const char* root, pid_t pid, const char* name, char* path, std::size_t capacity) {
  if (pid == 0) {
    snprintf(path, capacity, "%s/proc/self/%s", root, name);
  } else {
    snprintf(path, capacity, "%s/proc/%d/%s", root, static_cast<int>(pid), name);
  }
}

// Finds the group's name in the hierarchy of `controller`, preferring version 1.
// Line format: ID:CONTROLLERS:GROUP
GroupReading FindGroupName(const char* controller, const char* path, GroupPlace* place) {
  LineReader lines(path);
  while (char* line = lines.Next()) {
    char* controllers = strchr(line, ':');
    char* group = controllers == nullptr ? nullptr : strchr(controllers + 1, ':');
    if (group == nullptr) continue;
    *group++ = '\0';
    ++controllers;
    const bool first = ListContains(controllers, controller);
    if (!first && (*controllers != '\0' || place->version != 0)) continue;
    place->version = first ? 1 : 2;
    snprintf(place->group, sizeof(place->group), "%s", group);
  }
  return place->version != 0 ? GroupReading::kFound : lines.missing();
}

struct Mount {
  int version = 0;
  const char* top = "";    // which group is mounted there
  const char* place = "";  // where
};

// Line format: ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [TAGS...] - TYPE SOURCE SUPER-OPTIONS
Mount ParseMountLine(char* line, const char* controller) {
  char* words[64];
  int count = 0;
  char* save = nullptr;
  for (char* word = strtok_r(line, " ", &save); word != nullptr && count < 64;
       word = strtok_r(nullptr, " ", &save)) {
    words[count++] = word;
  }
  int dash = 0;
  while (dash < count && strcmp(words[dash], "-") != 0) ++dash;
  if (count < 6 || count - dash < 4) return {};
  if (strcmp(words[dash + 1], "cgroup2") == 0) return {2, words[3], words[4]};
  const bool first =
      strcmp(words[dash + 1], "cgroup") == 0 && ListContains(words[dash + 3], controller);
  return first ? Mount{1, words[3], words[4]} : Mount{};
}

// Makes `group` relative to the group `top` that is mounted; empty if it is that or outside of it.
void MakeRelative(const char* top, char* group) {
  const std::size_t length = strcmp(top, "/") == 0 ? 0 : strlen(top);
  const bool inside = strncmp(group, top, length) == 0 &&
                      (group[length] == '/' || group[length] == '\0') &&
                      strncmp(group + length, "/..", 3) != 0 && strcmp(group + length, "/") != 0;
  if (inside) {
    memmove(group, group + length, strlen(group + length) + 1);
  } else {
    group[0] = '\0';
  }
}

// Returns the page cache of the group that the kernel can drop without writing it first.
Number ReclaimableCache(const char* folder, int version) {
  // Those of version 1 with this prefix include the groups below.
  const char* prefix = version == 1 ? "total_" : "";
  const char* dirty_prefix = version == 1 ? "total_" : "file_";
  char path[2 * kMaxGroupPath + 64];
  snprintf(path, sizeof(path), "%s/memory.stat", folder);
  LineReader lines(path);
  if (lines.exhausted()) return {GroupReading::kUnreadable, 0};
  Bytes cache = 0;
  Bytes unwritten = 0;
  while (const char* line = lines.Next()) {
    char key[64];
    unsigned long long value = 0;
    if (sscanf(line, "%63s %llu", key, &value) != 2) continue;
    const auto is = [&](const char* before, const char* name) {
      const std::size_t length = strlen(before);
      return strncmp(key, before, length) == 0 && strcmp(key + length, name) == 0;
    };
    if (is(prefix, "inactive_file") || is(prefix, "active_file")) cache += value;
    if (is(dirty_prefix, "dirty") || is(dirty_prefix, "writeback")) unwritten += value;
  }
  return {GroupReading::kFound, cache > unwritten ? cache - unwritten : 0};
}

// Reads the memory of one group; kNone without a limit.
GroupReading ReadOneGroup(const char* folder, int version, GroupMemory* memory) {
  const char* const files[] = {version == 1 ? "memory.limit_in_bytes" : "memory.max",
                               version == 1 ? nullptr : "memory.high"};
  memory->limit = kUnlimited;
  for (const char* file : files) {
    if (file == nullptr) continue;
    const Number limit = ReadNumberFile(folder, file);
    if (limit.state == GroupReading::kUnreadable) return limit.state;
    if (limit.state == GroupReading::kNone || limit.value >= memory->limit) continue;
    if (version == 1 && limit.value >= kVersion1NoLimit) continue;
    memory->limit = limit.value;
    memory->file = file;
  }
  if (memory->limit == kUnlimited) return GroupReading::kNone;
  const Number usage =
      ReadNumberFile(folder, version == 1 ? "memory.usage_in_bytes" : "memory.current");
  if (usage.state != GroupReading::kFound) return usage.state;
  const Number cache = ReclaimableCache(folder, version);
  if (cache.state != GroupReading::kFound) return cache.state;
  memory->used = usage.value > cache.value ? usage.value - cache.value : 0;
  snprintf(memory->folder, sizeof(memory->folder), "%s", folder);
  return GroupReading::kFound;
}

Number MachineAvailable(const char* root) {
  char path[kMaxGroupPath];
  snprintf(path, sizeof(path), "%s/proc/meminfo", root);
  LineReader lines(path);
  while (const char* line = lines.Next()) {
    unsigned long long kibibytes = 0;
    if (sscanf(line, "MemAvailable: %llu kB", &kibibytes) != 1) continue;
    return {GroupReading::kFound, kibibytes * kKiB};
  }
  return {lines.missing(), 0};
}

}  // namespace

GroupReading FindGroup(const char* controller, pid_t pid, const char* root, GroupPlace* place) {
  *place = {};
  char path[kMaxGroupPath];
  ProcessFile(root, pid, "cgroup", path, sizeof(path));
  const GroupReading named = FindGroupName(controller, path, place);
  if (named != GroupReading::kFound) return named;
  ProcessFile(root, pid, "mountinfo", path, sizeof(path));
  LineReader lines(path);
  if (lines.exhausted()) return GroupReading::kUnreadable;
  while (char* line = lines.Next()) {
    const Mount mount = ParseMountLine(line, controller);
    if (mount.version != place->version) continue;
    snprintf(place->mount, sizeof(place->mount), "%s%s", root, mount.place);
    MakeRelative(mount.top, place->group);
    break;
  }
  if (place->mount[0] == '\0') {
    MakeRelative("/", place->group);
    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/unified", root);
    const char* below = place->version == 1 ? controller : "unified";
    const bool base = place->version == 2 && access(path, F_OK) != 0;
    snprintf(place->mount, sizeof(place->mount), "%s/sys/fs/cgroup%s%s", root, base ? "" : "/",
             base ? "" : below);
  }
  // In a container the path may be that of the host.
  char folder[2 * kMaxGroupPath];
  snprintf(folder, sizeof(folder), "%s%s", place->mount, place->group);
  if (access(folder, F_OK) != 0) place->group[0] = '\0';
  return GroupReading::kFound;
}

GroupReading ReadGroupMemory(pid_t pid, const char* root, GroupMemory* memory) {
  GroupPlace place;
  const GroupReading found = FindGroup("memory", pid, root, &place);
  if (found != GroupReading::kFound) return found;
  GroupReading result = GroupReading::kNone;
  for (;;) {
    char folder[2 * kMaxGroupPath];
    snprintf(folder, sizeof(folder), "%s%s", place.mount, place.group);
    GroupMemory one;
    const GroupReading reading = ReadOneGroup(folder, place.version, &one);
    if (reading == GroupReading::kUnreadable) return reading;
    if (reading == GroupReading::kFound &&
        (result == GroupReading::kNone || one.left() < memory->left())) {
      *memory = one;
      result = GroupReading::kFound;
    }
    char* slash = strrchr(place.group, '/');
    if (slash == nullptr) return result;
    *slash = '\0';
  }
}

Bytes HostHeadroom(const char* root) {
  const Number machine = MachineAvailable(root);
  GroupMemory group;
  const GroupReading reading = ReadGroupMemory(0, root, &group);
  if (machine.state == GroupReading::kUnreadable || reading == GroupReading::kUnreadable) return 0;
  Bytes least = machine.state == GroupReading::kFound ? machine.value : kUnlimited;
  if (reading == GroupReading::kFound && group.left() < least) least = group.left();
  return least;
}

void DescribeHostLimit(const char* root, char* text, std::size_t capacity) {
  const Number machine = MachineAvailable(root);
  GroupMemory group;
  const GroupReading reading = ReadGroupMemory(0, root, &group);
  if (reading == GroupReading::kFound &&
      (machine.state != GroupReading::kFound || group.left() < machine.value)) {
    snprintf(text, capacity,
             "%llu MiB left of the %llu MiB of %s in %s; raise it (docker run --memory, "
             "resources.limits.memory, MemoryMax=)",
             static_cast<unsigned long long>(group.left() / kMiB),
             static_cast<unsigned long long>(group.limit / kMiB), group.file, group.folder);
    return;
  }
  snprintf(text, capacity, "%llu MiB available on this machine; end other programs",
           static_cast<unsigned long long>(machine.value / kMiB));
}

}  // namespace reveza::platform

#include "common/platform/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "common/base/unique_fd.h"
#include "common/platform/text_file.h"

namespace reveza::platform {

std::vector<pid_t> CollectDescendants(
    pid_t pid, const std::unordered_map<pid_t, std::vector<pid_t>>& children_of) {
  return CollectDescendants(pid, [&](pid_t parent, std::vector<pid_t>& children) {
    if (const auto found = children_of.find(parent); found != children_of.end()) {
      children = found->second;
    }
  });
}

bool AppendChildren(int proc, pid_t pid, std::vector<pid_t>& children) {
  const std::string tasks = std::to_string(pid) + "/task";
  const int fd = openat(proc, tasks.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, decltype([](DIR* open) { closedir(open); })> folder(
      fd < 0 ? nullptr : fdopendir(fd));
  if (!folder) {
    if (fd >= 0) close(fd);
    return fd < 0 && errno == ENOENT;
  }
  bool supported = true;
  while (const dirent* entry = readdir(folder.get())) {
    if (!ToNumber(entry->d_name)) continue;
    const std::string task = tasks + "/" + entry->d_name;
    const UniqueFd file(openat(proc, (task + "/children").c_str(), O_RDONLY | O_CLOEXEC));
    const auto text = file ? ReadText(file.get()) : std::nullopt;
    if (!text) {
      // An exited thread lacks the folder, a kernel without the feature only the file.
      if (faccessat(proc, task.c_str(), F_OK, 0) == 0) supported = false;
      continue;
    }
    for (const std::string_view word : Words(*text)) {
      if (const auto child = ToNumber(word)) children.push_back(static_cast<pid_t>(*child));
    }
  }
  return supported;
}

}  // namespace reveza::platform

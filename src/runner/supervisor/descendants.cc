#include "runner/supervisor/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/unique_fd.h"

namespace reveza::runner {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// The list of one thread's children: numbers with blanks between them.
void AddChildren(const std::string& path, std::vector<pid_t>& found) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return;
  std::string text;
  char part[4096];
  for (ssize_t size = 0; (size = read(file.get(), part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(size));
  }
  const char* at = text.c_str();
  for (char* end = nullptr;; at = end) {
    const long pid = std::strtol(at, &end, 10);
    if (end == at) return;
    if (pid > 0) found.push_back(static_cast<pid_t>(pid));
  }
}

}  // namespace

std::vector<pid_t> Descendants(pid_t ancestor) {
  std::vector<pid_t> found;
  std::vector<pid_t> open_ones = {ancestor};
  for (std::size_t i = 0; i < open_ones.size(); ++i) {
    const std::string tasks = "/proc/" + std::to_string(open_ones[i]) + "/task";
    const Directory directory(opendir(tasks.c_str()));
    if (!directory) continue;
    const std::size_t before = found.size();
    while (const dirent* entry = readdir(directory.get())) {
      if (entry->d_name[0] != '.') AddChildren(tasks + "/" + entry->d_name + "/children", found);
    }
    open_ones.insert(open_ones.end(), found.begin() + static_cast<std::ptrdiff_t>(before),
                     found.end());
  }
  return found;
}

void SignalDescendants(pid_t ancestor, int signal) {
  constexpr int kRounds = 4;
  std::vector<pid_t> told;
  for (int round = 0; round < kRounds; ++round) {
    bool news = false;
    for (const pid_t pid : Descendants(ancestor)) {
      if (std::ranges::find(told, pid) != told.end()) continue;
      kill(pid, signal);
      told.push_back(pid);
      news = true;
    }
    if (!news) return;
  }
}

}  // namespace reveza::runner

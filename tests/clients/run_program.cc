#include "run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

extern char** environ;

namespace reveza::clients {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string Ended::Field(const std::string& key) const {
  const std::string quoted = "\"" + key + "\":";
  const std::size_t at = output.rfind(quoted);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + quoted.size();
  const std::size_t end = output.find_first_of(",}", begin);
  std::string value = output.substr(begin, end - begin);
  if (value.starts_with('"') && value.size() >= 2) value = value.substr(1, value.size() - 2);
  return value;
}

FakeCard::FakeCard(Settings settings) : settings_(std::move(settings)) {
  char folder[] = "/dev/shm/reveza-clients-XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("cannot make a folder in /dev/shm");
  folder_ = folder;
  settings_.insert({"FAKECUDA_DIR", folder_ + "/card"});
  settings_.insert({"FAKECUDA_MEMORY", "256MiB"});
  settings_.insert({"FAKECUDA_LINK", "0"});
  settings_.insert({"LD_LIBRARY_PATH", REVEZA_FAKECUDA_FOLDER});
}

FakeCard::~FakeCard() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Ended FakeCard::Run(const std::string& program, const std::vector<std::string>& arguments) const {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    if (!settings_.contains(name)) environment.emplace_back(*entry);
  }
  for (const auto& [key, value] : settings_) environment.push_back(key + "=" + value);
  std::vector<std::string> command{program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::string out = folder_ + "/out", err = folder_ + "/err";

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const int flags = O_CREAT | O_TRUNC | O_WRONLY;
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), flags, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &files, nullptr, Pointers(command).data(),
                                 Pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " + program);

  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ReadFile(out),
          ReadFile(err)};
}

std::string ClientPath(const std::string& name) {
  return std::string(REVEZA_CLIENT_FOLDER) + "/" + name;
}

}  // namespace reveza::clients

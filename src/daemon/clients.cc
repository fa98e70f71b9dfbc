#include "daemon/clients.h"

#include <filesystem>
#include <sstream>

namespace reveza::daemon {
namespace {

bool IsInterpreter(const std::string& program) {
  return program.starts_with("python") || program == "bash" || program == "sh" ||
         program == "perl" || program == "ruby" || program == "julia" || program == "node";
}

std::string LastPart(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

std::string ProgramName(const std::string& command) {
  std::istringstream words(command);
  std::string word;
  if (!(words >> word)) return "unnamed";
  std::string program = LastPart(word);
  if (!IsInterpreter(program)) return program;
  while (words >> word) {
    if (word == "-m" && words >> word) return word;
    if (word == "-c") break;
    if (!word.starts_with('-')) return LastPart(word);
  }
  return program;
}

}  // namespace reveza::daemon

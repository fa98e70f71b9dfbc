#include "tests/support/fake_card.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace reveza::testing {

FakeCard::FakeCard(Environment settings) : environment_(std::move(settings)) {
  char folder[] = "/dev/shm/reveza-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("cannot create a directory in /dev/shm");
  folder_ = folder;
  environment_.insert({"FAKECUDA_DIR", folder_ + "/card"});
  environment_.insert({"FAKECUDA_MEMORY", "256MiB"});
  environment_.insert({"REVEZA_USAGE_FILE", folder_ + "/usage.db"});
  environment_.insert({"FAKECUDA_LINK", "0"});
  environment_.insert({"LD_LIBRARY_PATH", REVEZA_FAKECUDA_FOLDER});
}

FakeCard::~FakeCard() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

ProcessResult FakeCard::Run(const std::string& program,
                            const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Environment environment = environment_;
  environment.insert({"REVEZA_DISABLE", "1"});  // sanitized builds link the library
  Process process(command, environment, folder_ + "/program");
  return process.Wait().value_or(ProcessResult{});
}

std::string ClientPath(const std::string& name) {
  return std::string(REVEZA_CLIENT_FOLDER) + "/" + name;
}

}  // namespace reveza::testing

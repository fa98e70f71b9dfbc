#include "version_command.h"

#include <fmt/format.h>

#include "exit_status.h"
#include "phi/arithmetic/processor.h"

namespace reveza::phi {

std::function<int()> AddVersionCommand(CLI::App& /*options*/) {
  return [] {
    fmt::print("phi {}\nprocessor: {}\n", REVEZA_VERSION, NameOf(InstructionsOfProcessor()));
    return kDone;
  };
}

}  // namespace reveza::phi

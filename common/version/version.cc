#include "common/version/version.h"

#include <fmt/format.h>

#include "generated/common/version/commit.h"

namespace reveza::version {

std::string Text(std::string_view program) {
  return fmt::format("{} {}\ncommit {}\nbuild: {}", program, REVEZA_VERSION, REVEZA_COMMIT,
                     REVEZA_BUILD);
}

}  // namespace reveza::version

#include "runner/definition/document.h"

#include <fmt/format.h>

namespace reveza::runner {

std::unexpected<Error> WrongAt(std::string_view name, const Place& place, std::string_view what) {
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("{}:{}:{}: {}", name, place.line, place.column, what));
}

}  // namespace reveza::runner

// Standard output, of which whoever writes hears when it does not arrive.
// Thread-safety: as stdout's, one call after another.
#pragma once

#include <string_view>

#include "base/error.h"

namespace reveza::platform {

// What `error` (errno) means to somebody who wrote: kExhausted where there is no room, kPermission,
// else kUnavailable.
Error StandardOutputError(int error);

Status WriteStandardOutput(std::string_view text);

// Sends on what waits. An error also where something did not arrive before.
Status FlushStandardOutput();

// Where somebody closed standard output or standard error before the program began, something is
// put in its place that takes nothing, so that no file gets its number and with it what is printed.
void HoldStandardPlaces();

}  // namespace reveza::platform

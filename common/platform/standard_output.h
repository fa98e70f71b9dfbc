// Standard output with error reporting. Not thread-safe: uses stdout.
#pragma once

#include <string_view>

#include "common/base/error.h"

namespace reveza::platform {

// Converts the errno of a failed write: kExhausted if the disk is full, kPermission, or
// kUnavailable.
Error StandardOutputError(int error);

Status WriteStandardOutput(std::string_view text);

// Flushes stdout. Also fails if an earlier write failed.
Status FlushStandardOutput();

// Opens /dev/null read-only for standard descriptors that were closed before the program started,
// so that no file gets their number and what is printed.
void ReserveStandardDescriptors();

}  // namespace reveza::platform

// What a program was built from, and how. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace reveza::version {

// Returns three lines without a final newline:
//
//   reveza 0.1.0
//   commit 1a2b3c4d5e6f, with uncommitted changes
//   build: preset ci, GNU 12.2.0, RelWithDebInfo, -O2 -g1 -DNDEBUG
//
// The commit is "unknown" for a tree outside Git.
std::string Text(std::string_view program);

}  // namespace reveza::version

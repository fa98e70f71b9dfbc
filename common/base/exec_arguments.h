// The argument vector of exec() and posix_spawn(). Pure.
#pragma once

#include <string>
#include <vector>

namespace reveza {

// Returns pointers to the words, which must outlive them, and a null pointer.
inline std::vector<char*> ExecArguments(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace reveza

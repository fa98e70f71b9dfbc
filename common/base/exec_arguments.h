// The argument and environment vectors of exec() and posix_spawn(). Pure.
#pragma once

#include <string>
#include <vector>

namespace reveza {

// Returns pointers to the words of both lists, which must outlive them, and a null pointer.
inline std::vector<char*> ExecArguments(const std::vector<std::string>& words,
                                        const std::vector<std::string>& more = {}) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + more.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& word : more) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace reveza

// Where the bytes of one file go: a file on disk, an object of a store, a pipe, memory, nowhere.
// Not safe from several threads.
#pragma once

#include <string_view>

#include "base/error.h"

namespace reveza::datagen {

class ByteSink {
 public:
  // Without Finish, nothing of it remains that could be taken for whole.
  virtual ~ByteSink() = default;

  // After an error only the destructor is left to call.
  virtual Status Append(std::string_view bytes) = 0;
  // Makes the bytes last, under their final name. Called once.
  virtual Status Finish() = 0;
};

}  // namespace reveza::datagen

// A file for the output of a step. It has no name until something is in it, so steps that print
// nothing, which are most, share one: creating and removing a file takes longer than a brief step's
// own work. Where the file system has no files without names, the file has its name at once.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/unique_fd.h"

namespace reveza::jobs {

class OutputFile {
 public:
  // `may_be_unnamed`: false to give the file its name at once.
  explicit OutputFile(bool may_be_unnamed = true) : may_be_unnamed_(may_be_unnamed) {}

  // Opens an empty file that will be called `path`, and removes the one that is. Returns false if
  // it cannot be opened (errno).
  bool Open(const std::string& path);

  // Returns the descriptor that a step writes to.
  int descriptor() const { return file_.get(); }
  bool is_named() const { return named_; }
  std::uint64_t Size() const;

  // Names the file if something is in it. Returns false if it cannot be named (errno).
  bool Publish();

  // Ends the output of a step that nothing writes to any more. A file without a byte loses its
  // name.
  void Close();

 private:
  UniqueFd file_;
  std::string path_;
  bool may_be_unnamed_;
  bool named_ = false;
  bool is_device_ = false;  // or another file that is not regular
};

}  // namespace reveza::jobs

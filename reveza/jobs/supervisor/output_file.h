// A file for the output of a step. It has no name until something is in it, so steps that print
// nothing, which are most, share one: creating and removing a file takes longer than a brief step's
// own work. Where the file system has no files without names, the file has its name at once.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/unique_fd.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

class OutputFile {
 public:
  // `may_be_unnamed`: false to give the file its name at once.
  explicit OutputFile(bool may_be_unnamed = true) : may_be_unnamed_(may_be_unnamed) {}

  // Opens an empty file that will be called `path`, and removes the one that is; `is_new`: there is
  // none. Returns false if it cannot be opened (errno).
  bool Open(const std::string& path, bool is_new = false);

  // Returns the descriptor that a step writes to.
  int descriptor() const { return file_.get(); }
  bool is_named() const { return named_; }
  std::uint64_t Size() const;
  // Reads the size for the last time: nothing writes to the file any more.
  void FixSize() { final_size_ = Size(); }

  // Names the file if something is in it. Returns false if it cannot be named (errno).
  bool Publish();

  // Ends the output of a step that nothing writes to any more. A file without a byte loses its
  // name.
  void Close();

 private:
  UniqueFd file_;
  std::string path_;
  bool may_be_unnamed_;
  int flags_ = 0;  // of a file without a name when it was opened
  std::optional<std::uint64_t> final_size_;
  bool named_ = false;
  bool is_device_ = false;  // or another file that is not regular
};

// Standard output and error of a step.
struct StepOutputs {
  OutputFile output;
  OutputFile errors;

  // These do what OutputFile does, with both.
  bool Open(const StartRequest& request);
  bool Publish();
  void FixSizes();
  void Close();
  bool are_named() const { return output.is_named() && errors.is_named(); }
  bool are_empty() const { return output.Size() == 0 && errors.Size() == 0; }
};

}  // namespace reveza::jobs

#include "reveza/jobs/supervisor/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace reveza::jobs {
namespace {

constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC;
constexpr mode_t kMode = 0600;

std::string ProcPath(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// Returns a file without a name that can get one later; none if the system has no such files.
UniqueFd OpenUnnamed(const std::string& path) {
  UniqueFd file(open(path.substr(0, path.rfind('/')).c_str(), kFlags | O_TMPFILE, kMode));
  // Names are given through /proc.
  if (file && access(ProcPath(file.get()).c_str(), F_OK) != 0) return {};
  return file;
}

}  // namespace

bool OutputFile::Open(const std::string& path, bool is_new) {
  path_ = path;
  final_size_.reset();
  struct stat there{};
  const bool exists = !is_new && lstat(path.c_str(), &there) == 0;
  // A device, say, is written to and never replaced.
  is_device_ = exists && !S_ISREG(there.st_mode);
  if (is_device_ || !may_be_unnamed_) {
    file_.Reset();
  } else if (file_) {
    // Left empty by the last step. Flags of a description are shared: those that it has changed
    // must not be the next one's.
    if (fcntl(file_.get(), F_GETFL) != flags_) {
      file_ = UniqueFd(open(ProcPath(file_.get()).c_str(), kFlags));
      flags_ = fcntl(file_.get(), F_GETFL);
    }
  } else {
    file_ = OpenUnnamed(path);
    flags_ = fcntl(file_.get(), F_GETFL);
  }
  named_ = !file_;
  if (named_) {
    file_ = UniqueFd(open(path.c_str(), kFlags | O_CREAT | O_TRUNC, kMode));
  } else if (exists) {
    unlink(path.c_str());
  }
  return static_cast<bool>(file_);
}

std::uint64_t OutputFile::Size() const {
  if (final_size_) return *final_size_;
  struct stat info{};
  if (!file_ || fstat(file_.get(), &info) != 0) return 0;
  return static_cast<std::uint64_t>(info.st_size);
}

bool OutputFile::Publish() {
  if (named_ || Size() == 0) return true;
  named_ = linkat(AT_FDCWD, ProcPath(file_.get()).c_str(), AT_FDCWD, path_.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
  return named_;
}

void OutputFile::Close() {
  const bool is_empty = Size() == 0;
  final_size_.reset();
  if (named_ && is_empty && !is_device_) unlink(path_.c_str());
  if (!named_ && is_empty) return;
  file_.Reset();
  named_ = false;
}

bool StepOutputs::Open(const StartRequest& request) {
  return output.Open(request.output, request.outputs_are_new) &&
         errors.Open(request.errors, request.outputs_are_new);
}

bool StepOutputs::Publish() {
  const bool published = output.Publish();
  return errors.Publish() && published;
}

void StepOutputs::FixSizes() {
  output.FixSize();
  errors.FixSize();
}

void StepOutputs::Close() {
  output.Close();
  errors.Close();
}

}  // namespace reveza::jobs

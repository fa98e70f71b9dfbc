// Prints what steps write, while `reveza jobs run` shows its progress on the same terminal. Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/unique_fd.h"
#include "reveza/jobs/engine/engine.h"

namespace reveza::cli {

class StepOutputs {
 public:
  virtual ~StepOutputs() = default;

  virtual void OnStart(const jobs::StepReport& report) = 0;
  virtual void OnEnd(const jobs::StepReport& report, bool will_retry) = 0;
  // Prints what running steps have written since. Call a few times per second.
  virtual void Poll() = 0;
  // Counts the step as printed by an earlier run.
  virtual void Skip(std::uint32_t step) = 0;
  // Prints what is left at the end of the run.
  virtual void Finish() = 0;
};

// What both implementations need: the folder of the outputs, and what to call before anything is
// printed, such as erasing the progress.
struct PrintTarget {
  std::filesystem::path folder;
  std::function<void()> before_printing;
};

// Prints lines as they are written, after the label of their step: `seed=57 | line`. Lines of
// standard error go to standard error.
class TaggedOutputs : public StepOutputs {
 public:
  // `columns`: of the longest label, for alignment.
  TaggedOutputs(PrintTarget target, std::size_t columns);

  void OnStart(const jobs::StepReport& report) override;
  void OnEnd(const jobs::StepReport& report, bool will_retry) override;
  void Poll() override;
  void Skip(std::uint32_t) override {}
  void Finish() override {}

 private:
  // An output of a running step.
  struct Stream {
    std::string path;
    std::FILE* target;
    UniqueFd file;        // open once it exists
    std::string partial;  // a line without its end
  };
  struct Running {
    std::string tag;
    std::array<Stream, 2> streams;
  };

  // Prints up to `max_bytes` of what is new; the last line even without its end if `ended`.
  void Print(Running& running, std::size_t max_bytes, bool ended);
  void PrintLines(const std::string& tag, Stream& stream, std::string_view bytes);

  PrintTarget target_;
  std::size_t columns_;
  std::map<std::uint32_t, Running> running_;
};

// Prints the whole standard output of each step once those before it have ended. Steps that do not
// run (skipped, held, rejected) are known at the end only.
class OrderedOutputs : public StepOutputs {
 public:
  OrderedOutputs(PrintTarget target, std::size_t steps);

  void OnStart(const jobs::StepReport&) override {}
  void OnEnd(const jobs::StepReport& report, bool will_retry) override;
  void Poll() override {}
  void Skip(std::uint32_t step) override;
  void Finish() override;

 private:
  void PrintReady();
  void Print(std::size_t step) const;

  struct Ended {
    bool finished = false;
    std::string files;  // empty: nothing to print
  };
  PrintTarget target_;
  std::vector<Ended> ended_;  // by step
  std::size_t printed_ = 0;
};

// Returns what the request asks for; null: nothing is printed.
std::unique_ptr<StepOutputs> MakeStepOutputs(const jobs::Job& job, const jobs::RunRequest& request,
                                             PrintTarget target);

}  // namespace reveza::cli

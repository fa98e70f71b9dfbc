#include "reveza/cli/reveza/jobs/step_outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

#include "common/base/bytes.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::cli {
namespace {

// Tags are the default for jobs whose outputs a person can follow.
constexpr std::size_t kMaxTaggedSteps = 16;
// A step that writes faster catches up when it ends: the runner must not wait for the terminal.
constexpr std::size_t kMaxPerPoll = 256 * kKiB;
// A longer line is printed in pieces.
constexpr std::size_t kMaxLine = 64 * kKiB;

std::size_t LongestLabel(const jobs::Job& job) {
  constexpr std::size_t kMaxColumns = 40;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < std::min(job.steps.size(), kMaxTaggedSteps); ++i) {
    longest = std::max(longest, jobs::LabelOf(job, i).size());
  }
  return std::min(longest, kMaxColumns);
}

}  // namespace

TaggedOutputs::TaggedOutputs(PrintTarget target, std::size_t columns)
    : target_(std::move(target)), columns_(columns) {}

void TaggedOutputs::OnStart(const jobs::StepReport& report) {
  const std::string files = (target_.folder / report.files).string();
  Running& running = running_[report.step];
  running.tag = fmt::format("{:<{}} | ", jobs::EscapeControls(report.label), columns_);
  running.streams = {{{files + ".out", stdout, {}, {}}, {files + ".err", stderr, {}, {}}}};
}

void TaggedOutputs::OnEnd(const jobs::StepReport& report, bool) {
  const auto running = running_.find(report.step);
  if (running == running_.end()) return;
  Print(running->second, std::numeric_limits<std::size_t>::max(), /*ended=*/true);
  running_.erase(running);
}

void TaggedOutputs::Poll() {
  for (auto& [step, running] : running_) Print(running, kMaxPerPoll, /*ended=*/false);
}

void TaggedOutputs::Print(Running& running, std::size_t max_bytes, bool ended) {
  for (Stream& stream : running.streams) {
    if (!stream.file) stream.file = UniqueFd(open(stream.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!stream.file) continue;
    std::array<char, 64 * kKiB> piece;
    std::size_t left = max_bytes;
    while (left > 0) {
      const ssize_t count = read(stream.file.get(), piece.data(), std::min(piece.size(), left));
      if (count <= 0) break;
      left -= static_cast<std::size_t>(count);
      PrintLines(running.tag, stream, {piece.data(), static_cast<std::size_t>(count)});
    }
    if (ended && !stream.partial.empty()) PrintLines(running.tag, stream, "\n");
    std::fflush(stream.target);
  }
}

void TaggedOutputs::PrintLines(const std::string& tag, Stream& stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    stream.partial += bytes.substr(0, end);
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
    if (end == bytes.npos && stream.partial.size() < kMaxLine) return;
    target_.before_printing();
    fmt::print(stream.target, "{}{}\n", tag, stream.partial);
    stream.partial.clear();
  }
}

OrderedOutputs::OrderedOutputs(PrintTarget target, std::size_t steps)
    : target_(std::move(target)), ended_(steps) {}

void OrderedOutputs::OnEnd(const jobs::StepReport& report, bool will_retry) {
  if (will_retry) return;
  // Steps may have been added since the start.
  if (report.step >= ended_.size()) ended_.resize(report.step + 1);
  ended_[report.step] = {true, std::string(report.files)};
  PrintReady();
}

void OrderedOutputs::Skip(std::uint32_t step) {
  if (step < ended_.size()) ended_[step] = {true, {}};
}

void OrderedOutputs::Finish() {
  for (; printed_ < ended_.size(); ++printed_) Print(printed_);
}

void OrderedOutputs::PrintReady() {
  for (; printed_ < ended_.size() && ended_[printed_].finished; ++printed_) Print(printed_);
}

void OrderedOutputs::Print(std::size_t step) const {
  if (ended_[step].files.empty()) return;
  std::ifstream file(target_.folder / (ended_[step].files + ".out"), std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) return;
  target_.before_printing();
  // In pieces: an output may exceed the memory.
  std::array<char, 64 * kKiB> piece;
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
    std::fwrite(piece.data(), 1, static_cast<std::size_t>(file.gcount()), stdout);
  }
  std::fflush(stdout);
}

std::unique_ptr<StepOutputs> MakeStepOutputs(const jobs::Job& job, const jobs::RunRequest& request,
                                             PrintTarget target) {
  using jobs::Output;
  Output output = request.output;
  if (output == Output::kAuto) {
    const bool few = job.steps.size() <= kMaxTaggedSteps;
    const bool on_terminal = !request.json && !request.quiet && isatty(STDOUT_FILENO) != 0;
    output = few && on_terminal ? Output::kTag : Output::kNone;
  }
  switch (output) {
    case Output::kTag:
      return std::make_unique<TaggedOutputs>(std::move(target), LongestLabel(job));
    case Output::kKeepOrder:
      return std::make_unique<OrderedOutputs>(std::move(target), job.steps.size());
    default:
      return nullptr;
  }
}

}  // namespace reveza::cli

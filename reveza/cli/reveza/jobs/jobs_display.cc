#include "reveza/cli/reveza/jobs/jobs_display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "common/base/bytes.h"
#include "common/base/json_text.h"
#include "common/base/units.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/template.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::cli {
namespace {

using jobs::AttemptResult;
using jobs::Outcome;
using jobs::StepReport;

constexpr auto kLogInterval = std::chrono::seconds(10);

// A narrower bar is unreadable.
constexpr std::size_t kMinColumns = 20;

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

TerminalSize GetTerminalSize() {
  winsize size{};
  TerminalSize known;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return known;
  if (size.ws_col > 0) known.columns = size.ws_col;
  if (size.ws_row > 0) known.rows = size.ws_row;
  return known;
}

void PrintJson(const nlohmann::json& document) {
  fmt::print("{}\n", JsonText(document));
  std::fflush(stdout);
}

void PrintProgress(const jobs::Progress& progress) {
  nlohmann::json event = jobs::ProgressJson(progress);
  event["event"] = "progress";
  PrintJson(event);
}

}  // namespace

Status CreateOutputs(const jobs::RunRequest& request) {
  const auto refuse = [](const char* option, const std::filesystem::path& path, int error) {
    return Fail(Error::Code::kPermission, "{}: cannot write {}: {}; choose a writable path", option,
                path.string(), std::generic_category().message(error));
  };
  std::error_code ignored;
  // A reader of a FIFO would see end-of-file when it is closed here.
  if (!request.joblog.empty() && !std::filesystem::is_fifo(request.joblog, ignored)) {
    std::FILE* file = std::fopen(request.joblog.c_str(), "ae");
    if (file == nullptr) return refuse("--joblog", request.joblog, errno);
    std::fclose(file);
  }
  if (!request.output_folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(request.output_folder, error);
    if (error) return refuse("--output-folder", request.output_folder, error.value());
    if (access(request.output_folder.c_str(), W_OK | X_OK) != 0) {
      return refuse("--output-folder", request.output_folder, errno);
    }
  }
  return {};
}

JobsDisplay::JobsDisplay(const jobs::Job& job, const jobs::RunRequest& request,
                         std::filesystem::path outputs)
    : job_(job),
      request_(request),
      outputs_(std::move(outputs)),
      live_(!request.json && !request.quiet && isatty(STDERR_FILENO) != 0) {
  step_outputs_ = MakeStepOutputs(job, request, {outputs_, [this] { Erase(); }});
  if (request.joblog.empty()) return;
  joblog_ = std::fopen(request.joblog.c_str(), "ae");
  std::error_code error;
  const auto size = std::filesystem::file_size(request.joblog, error);
  const bool begun = !error && size > 0;
  WriteToJoblog(begun ? std::string() : jobs::JoblogHeader());
}

JobsDisplay::~JobsDisplay() {
  if (joblog_ != nullptr) std::fclose(joblog_);
}

void JobsDisplay::WriteToJoblog(std::string_view text) {
  const bool written = joblog_ != nullptr &&
                       std::fwrite(text.data(), 1, text.size(), joblog_) == text.size() &&
                       std::fflush(joblog_) == 0;
  const int error = errno;
  if (written || joblog_error_logged_) return;
  joblog_error_logged_ = true;
  JobsDisplay::OnNote(fmt::format("cannot write all lines of the joblog {}: {}",
                                  request_.joblog.string(),
                                  std::generic_category().message(error)));
}

void JobsDisplay::Erase() {
  if (drawn_ == 0) return;
  // Moves the cursor to the first line and clears to the end of the screen.
  fmt::print(stderr, "\x1b[{}F\x1b[J", drawn_);
  drawn_ = 0;
}

void JobsDisplay::Draw(const jobs::Progress& progress) {
  Erase();
  const TerminalSize size = GetTerminalSize();
  jobs::Progress wide = progress;
  wide.columns = size.columns;
  wide.colour = true;
  // Lines that wrap or scroll away cannot be erased. The last line is the cursor's.
  const std::size_t max_lines = size.columns < kMinColumns ? 0 : size.rows - 1;
  for (const auto& line : jobs::ProgressLines(wide)) {
    if (drawn_ == max_lines) break;
    fmt::print(stderr, "{}\n", line);
    ++drawn_;
  }
  std::fflush(stderr);
}

void JobsDisplay::PrintLine(const std::string& line) {
  Erase();
  fmt::print(stderr, "{}\n", jobs::EscapeControls(line));
  if (live_ && last_) Draw(*last_);
}

void JobsDisplay::OnStart(const StepReport& report) {
  if (step_outputs_) step_outputs_->OnStart(report);
  if (!request_.json) return;
  PrintJson({{"event", "start"},
             {"step", report.step + 1},
             {"label", report.label},
             {"attempt", report.attempt}});
}

void JobsDisplay::OnEnd(const StepReport& report, const AttemptResult& result, bool retried,
                        std::string_view explanation) {
  if (joblog_ != nullptr) {
    jobs::JoblogEntry entry;
    entry.number = report.step + 1;
    entry.start = std::chrono::system_clock::time_point(std::chrono::nanoseconds(result.began));
    entry.duration = std::chrono::nanoseconds(result.ended - result.began);
    entry.received = result.output_bytes + result.error_bytes;
    entry.exit_status = result.outcome == Outcome::kSignal ? 0 : result.code;
    entry.signal = result.outcome == Outcome::kSignal ? result.code : 0;
    const auto& step = job_.steps[report.step];
    const auto expanded =
        jobs::Expand(job_.commands[step.command], step, {1, report.step + 1, 1, 1});
    if (expanded) entry.command = jobs::ShellJoin(expanded->arguments);
    WriteToJoblog(jobs::JoblogLine(entry));
  }
  // Before what is said of its end.
  if (step_outputs_) step_outputs_->OnEnd(report, retried);
  if (request_.json) {
    PrintJson({{"event", "end"},
               {"step", report.step + 1},
               {"label", report.label},
               {"attempt", report.attempt},
               {"outcome", ToText(result.outcome)},
               {"code", result.code},
               {"seconds", static_cast<double>(result.ended - result.began) / 1e9},
               {"again", retried},
               {"explanation", explanation}});
  } else if (result.outcome != Outcome::kSuccess && result.outcome != Outcome::kPartial) {
    const std::string why = explanation.empty() ? "" : fmt::format(" ({})", explanation);
    const std::string errors = (outputs_ / report.files).string() + ".err";
    std::error_code error;
    const bool has_errors = std::filesystem::exists(errors, error);
    PrintLine(fmt::format("step {} {}{}{}{}", report.label, jobs::OutcomeText(result), why,
                          retried ? "; it will be retried" : "",
                          has_errors && !retried ? fmt::format("; its errors: {}", errors) : ""));
  }
}

void JobsDisplay::Skip(std::uint32_t step) {
  if (step_outputs_) step_outputs_->Skip(step);
}

void JobsDisplay::OnCycle(const StepReport& report, const jobs::CycleResult& cycle) {
  if (!request_.json) return;
  PrintJson({{"event", "cycle"},
             {"step", report.step + 1},
             {"label", report.label},
             {"number", cycle.number},
             {"metrics", cycle.metrics}});
}

void JobsDisplay::OnProgress(const jobs::Progress& progress) {
  last_ = progress;
  if (step_outputs_) step_outputs_->Poll();
  if (request_.quiet) return;
  if (live_) return Draw(progress);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_line_) return;
  const bool first = next_line_ == std::chrono::steady_clock::time_point{};
  next_line_ = now + kLogInterval;
  if (first) return;
  if (request_.json) {
    return PrintProgress(progress);
  }
  fmt::print(stderr, "{}\n", jobs::ProgressLine(progress));
}

void JobsDisplay::OnNote(std::string_view line) {
  if (request_.json) return PrintJson({{"event", "note"}, {"text", line}});
  PrintLine(fmt::format("reveza: {}", line));
}

void JobsDisplay::Finish() {
  if (step_outputs_) step_outputs_->Finish();
  if (!live_ && !request_.quiet && last_) {
    if (request_.json) {
      PrintProgress(*last_);
    } else {
      fmt::print(stderr, "{}\n", jobs::ProgressLine(*last_));
    }
  }
  drawn_ = 0;
}

}  // namespace reveza::cli

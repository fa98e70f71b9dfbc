// `fraudgen report PLACE -o FILE`: writes an HTML report about a data set.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "common/platform/stop_signals.h"
#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/terminal.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/report/facts.h"

namespace reveza::fraudgen::cli {
namespace {

using report::Language;

Result<Language> LanguageOf(std::string_view name) {
  if (name == "en") return Language::kEnglish;
  if (name == "pt") return Language::kPortuguese;
  return InvalidArgument("--language: '{}' is invalid; expected en or pt", name);
}

Result<std::unique_ptr<ByteSink>> OpenOutput(const std::string& output) {
  if (output == "-") {
    // A closed pipe is reported by write().
    signal(SIGPIPE, SIG_IGN);
    return std::make_unique<StdoutSink>();
  }
  if (output.contains("://")) {
    return InvalidArgument(
        "--output: reports are local files, not {}; choose report.html, or - for standard output",
        output);
  }
  std::error_code error;
  const auto there = std::filesystem::status(output, error);
  if (std::filesystem::is_directory(there)) {
    return InvalidArgument("--output: {0} is a folder; choose a file, such as {0}/report.html",
                           output);
  }
  // Devices must not be replaced.
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return InvalidArgument(
        "--output: {} is not a regular file; choose report.html, or - for standard output", output);
  }
  ASSIGN_OR_RETURN(auto file, FileSink::Create(output));
  return std::make_unique<FileSink>(std::move(file));
}

}  // namespace

int WriteReport(const RunArguments& arguments, const std::string& place,
                const std::string& language) {
  const auto parsed = LanguageOf(language);
  if (!parsed) return ReportError(parsed.error());
  if (!report::HavePage()) {
    return ReportError(
        kFailed,
        "this fraudgen was built without the chart library; run tools/setup.sh and rebuild");
  }
  auto sink = OpenOutput(arguments.output);
  if (!sink) return ReportError(sink.error());
  platform::StopSignals signals;
  return WithPlace(arguments, place, [&](const std::shared_ptr<Destination>& source) -> int {
    const auto facts = [&] {
      const StatusLine status(arguments.quiet, "making all rows again");
      return report::CollectFacts(source, arguments.threads,
                                  [&](uint64_t) { return signals.Received() == 0; });
    }();
    if (!facts) return ReportError(kUnreadable, facts.error().message);
    if (facts->stopped) {
      return ReportError(StatusOfSignal(signals.Received()), "stopped before all rows were made");
    }
    const std::string page = report::PageWith(report::ReportJson(facts->json, *parsed));
    if (auto appended = (*sink)->Append(page); !appended) return ReportError(appended.error());
    if (auto finished = (*sink)->Finish(); !finished) return ReportError(finished.error());
    if (!arguments.quiet && arguments.output != "-") {
      fmt::print("wrote {} ({}); open it in a browser\n", arguments.output,
                 FormatSize(page.size()));
    }
    return kDone;
  });
}

}  // namespace reveza::fraudgen::cli

// `fraudgen report FOLDER -o FILE`: one page of pictures about a data set.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "commands.h"
#include "datagen/output/file_sink.h"
#include "datagen/output/stdout_sink.h"
#include "datagen/report/facts.h"
#include "datagen/report/island.h"
#include "datagen/report/page.h"
#include "exit_status.h"
#include "platform/stop_signals.h"
#include "progress_display.h"
#include "text.h"

namespace reveza::fraudgen {
namespace {

using datagen::report::Language;

Result<Language> LanguageOf(std::string_view name) {
  if (name == "en") return Language::kEnglish;
  if (name == "pt") return Language::kPortuguese;
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("--language: '{}' is not right; write en or pt", name));
}

Result<std::unique_ptr<datagen::ByteSink>> OpenOutput(const std::string& output) {
  if (output == "-") return std::make_unique<datagen::StdoutSink>();
  if (output.contains("://")) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("--output: a report is a file of this machine, not {}; write "
                            "report.html, or - for standard output",
                            output));
  }
  std::error_code error;
  const auto there = std::filesystem::status(output, error);
  if (std::filesystem::is_directory(there)) {
    return Fail(
        Error::Code::kInvalidArgument,
        fmt::format("--output: {0} is a folder; write a file, such as {0}/report.html", output));
  }
  // A device must never be replaced by a page.
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("--output: {} is no plain file; write report.html, or - for standard "
                            "output",
                            output));
  }
  auto file = datagen::FileSink::Create(output);
  if (!file) return std::unexpected(std::move(file).error());
  return std::make_unique<datagen::FileSink>(*std::move(file));
}

}  // namespace

int WriteReport(const RunArguments& arguments, const std::string& folder,
                const std::string& language) {
  const auto of = LanguageOf(language);
  if (!of) return Say(of.error());
  if (!datagen::report::HavePage()) {
    return Say(kFailed,
               "this fraudgen was built without the chart library that pages are drawn with; run "
               "tools/setup.sh, then build again");
  }
  if (folder.contains("://")) {
    return Say(kUnreadable,
               fmt::format("report reads folders, not {}; copy the data set first", folder));
  }
  auto sink = OpenOutput(arguments.output);
  if (!sink) return Say(sink.error());
  platform::StopSignals signals;
  const auto facts = [&] {
    const Moments reading(arguments.quiet, "looking at every row");
    return datagen::report::CollectFacts(folder, [&](uint64_t) { return signals.Came() == 0; });
  }();
  if (!facts) return Say(kUnreadable, facts.error().message);
  if (facts->stopped) {
    return Say(signals.Came() == SIGTERM ? kTerminated : kInterrupted,
               "stopped before all rows were looked at");
  }
  const std::string page = datagen::report::PageWith(datagen::report::IslandOf(*facts, *of));
  if (auto appended = (*sink)->Append(page); !appended) return Say(appended.error());
  if (auto finished = (*sink)->Finish(); !finished) return Say(finished.error());
  if (!arguments.quiet && arguments.output != "-") {
    fmt::print("wrote {} ({}); open it in a browser\n", arguments.output, FormatSize(page.size()));
  }
  return kDone;
}

}  // namespace reveza::fraudgen

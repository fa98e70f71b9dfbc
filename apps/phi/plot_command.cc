#include "plot_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "exit_status.h"
#include "phi/plot/page.h"
#include "phi/plot/plot_facts.h"
#include "phi/plot/table_file.h"
#include "platform/output_file.h"

namespace reveza::phi {
namespace {

struct Typed {
  std::string file;
  std::string output = "phi.html";
  std::string measures = "si,phi_g";
  std::string partition = "si";
  PlotOptions options;
};

Status Write(const std::string& path, const std::string& text) {
  auto file = platform::OutputFile::Create(path);
  if (!file) return std::unexpected(file.error());
  if (auto appended = file->Append(text); !appended) return appended;
  return file->Finish();
}

int RunPlot(Typed typed) {
  const bool html = typed.output.ends_with(".html") || typed.output.ends_with(".htm");
  if (!html && !typed.output.ends_with(".svg")) {
    return Say(kUsage, fmt::format("'{}' is neither a page nor a picture; name a file that ends in "
                                   ".html or .svg",
                                   typed.output));
  }
  const auto measures = MeasuresOf(typed.measures);
  if (!measures) return Say(measures.error());
  typed.options.measures = *measures;
  const auto partition = MeasureOf(typed.partition);
  if (!partition) return Say(partition.error());
  typed.options.partition_measure = *partition;
  const auto table = ReadPlotTable(typed.file);
  if (!table) return Say(table.error());
  std::filesystem::path source(typed.file);
  if (!source.has_filename()) source = source.parent_path();
  const auto facts = PlotFactsOf(*table, source.filename().string(), typed.options);
  if (!facts) return Say(facts.error());
  const auto written = Write(typed.output, html ? HtmlPage(*facts) : SvgPicture(*facts));
  if (!written) return Say(written.error());
  fmt::print("{}: {} rows, {} measures over time\n", typed.output, facts->rows,
             facts->tracks.size());
  for (const std::string& notice : facts->notices) fmt::print("{}\n", notice);
  return kDone;
}

}  // namespace

std::function<int()> AddPlotCommand(CLI::App& options) {
  const auto typed = std::make_shared<Typed>();
  typed->options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options
      .add_option("FILE", typed->file,
                  "the folder or rows of `phi run`, what `phi measure --window --csv` writes, or "
                  "any series: CSV, JSON lines, Parquet, NumPy")
      ->required();
  options
      .add_option("-o,--output", typed->output, "a page (.html) or a picture (.svg); else phi.html")
      ->type_name("FILE");
  options
      .add_option("-m,--measure", typed->measures,
                  "of a series: what to measure in windows; si,phi_g unless given")
      ->type_name("NAMES");
  options
      .add_option("--window", typed->options.window,
                  "rows that a value looks at; else what the run says, or a tenth of a series")
      ->check(CLI::Range(2, 100'000'000))
      ->type_name("N");
  options
      .add_option("--partition-measure", typed->partition,
                  "what the minimum information partition loses least of; si unless given")
      ->type_name("NAME");
  options
      .add_option("--surrogates", typed->options.surrogates,
                  "how many make the null band; 99 unless given, 0 for none")
      ->check(CLI::Range(0, 100'000))
      ->type_name("N");
  options.add_option("--threads", typed->options.threads, "which change no number")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  return [typed] { return RunPlot(*typed); };
}

}  // namespace reveza::phi

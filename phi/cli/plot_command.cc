#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/platform/output_file.h"
#include "phi/cli/commands.h"
#include "phi/plot/charts.h"
#include "phi/plot/plot_data.h"
#include "phi/plot/table_file.h"

namespace reveza::phi {
namespace {

struct PlotArguments {
  std::string file;
  std::string output = "phi.html";
  std::string measures = "si,phi_g";
  std::string partition = "si";
  PlotOptions options;
};

Status Write(const std::string& path, const std::string& text) {
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(path));
  RETURN_IF_ERROR(file.Append(text));
  return file.Finish();
}

Result<int> RunPlot(PlotArguments arguments) {
  const bool html = arguments.output.ends_with(".html") || arguments.output.ends_with(".htm");
  if (!html && !arguments.output.ends_with(".svg")) {
    return InvalidArgument("--output: '{}' must end in .html or .svg", arguments.output);
  }
  ASSIGN_OR_RETURN(arguments.options.measures, ParseMeasures(arguments.measures));
  ASSIGN_OR_RETURN(arguments.options.partition_measure, ParseMeasure(arguments.partition));
  ASSIGN_OR_RETURN(const auto table, ReadPlotTable(arguments.file));
  std::filesystem::path source(arguments.file);
  if (!source.has_filename()) source = source.parent_path();
  ASSIGN_OR_RETURN(const auto data,
                   MakePlotData(table, source.filename().string(), arguments.options));
  RETURN_IF_ERROR(Write(arguments.output, html ? HtmlPage(data) : SvgPicture(data)));
  fmt::print("{}: {} rows, {} measures over time\n", arguments.output, data.rows,
             data.tracks.size());
  for (const std::string& notice : data.notices) fmt::print("{}\n", notice);
  return kDone;
}

}  // namespace

Action AddPlotCommand(CLI::App& options) {
  const auto arguments = std::make_shared<PlotArguments>();
  options
      .add_option("FILE", arguments->file,
                  "output folder or rows of `phi run`, output of `phi measure --window`, or a time "
                  "series (CSV, Parquet, NumPy)")
      ->required();
  AddDefaulted(options, "-o,--output", arguments->output, "page (.html) or picture (.svg) to write",
               "FILE");
  AddDefaulted(options, "-m,--measure", arguments->measures,
               "comma-separated measures of a time series, taken in windows", "MEASURE,...");
  AddOption(options, "--window", arguments->options.window, "N",
            "rows per window; default: as in the run, or a tenth of a series")
      ->check(CLI::Range(2, 100'000'000));
  AddDefaulted(options, "--partition-measure", arguments->partition,
               "measure that the minimum information partition minimises", "MEASURE");
  AddDefaulted(options, "--surrogates", arguments->options.surrogates,
               "surrogates of the null band; 0 draws none", "N")
      ->check(CLI::Range(0, 100'000));
  AddThreads(options, arguments->options.threads);
  options.footer("Example:\n  phi plot results/ -o results.html");
  return [arguments] { return RunPlot(*arguments); };
}

}  // namespace reveza::phi

#include "reveza/cli/reveza/metrics_options.h"

#include "common/cli/command_line.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/program.h"

namespace reveza::cli {

void DeclareMetrics(CLI::App& app, MetricsArguments& arguments) {
  app.description(
      "Serve metrics to Prometheus\n\n"
      "Serves metrics of the machine, GPUs, programs and jobs to Prometheus at /metrics.");
  AddOption(app, "--listen", arguments.listen, "ADDRESS:PORT",
            "address to listen at (default: 127.0.0.1:9787)");
  app.add_flag("--once", arguments.once, "print the metrics and exit");
  app.add_flag("--dcgm-names", arguments.dcgm_names,
               "also memory and use of GPUs under the names and labels of dcgm-exporter");
  AddSocketsOption(app, arguments.sockets);
  app.footer("Example:\n  reveza metrics --listen 127.0.0.1:9788");
}

void DescribeMetrics(CLI::App& app) {
  DeclareMetrics(app, command_line::ArgumentsOwnedBy<MetricsArguments>(app));
}

}  // namespace reveza::cli

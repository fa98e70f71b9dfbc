// `reveza metrics`: becomes reveza-metrics, the program that serves figures to Prometheus. It is a
// program of its own because it needs libraries of the system that `reveza` does without.
#pragma once

namespace reveza::cli {

// argv[0] is "metrics". Returns only when it cannot: the exit status.
int MetricsCommand(int argc, char** argv);

}  // namespace reveza::cli

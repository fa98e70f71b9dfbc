// The live page of `reveza top` in a terminal, by ncurses. What it shows and what keys do is
// decided in monitor/; here is only the terminal. Thread-safety: none, and one at a time.
#pragma once

#include <chrono>

#include "monitor/collector.h"
#include "monitor/screen.h"

namespace reveza::cli {

// Until the user ends it. Returns the exit status.
int ShowLive(monitor::Collector& collector, monitor::ViewState state,
             std::chrono::milliseconds interval, bool ascii);

}  // namespace reveza::cli

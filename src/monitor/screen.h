// The page that `reveza top` shows. Pure: of a snapshot, what was before, the size and what the
// user has chosen. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "monitor/canvas.h"
#include "monitor/history.h"
#include "monitor/rows.h"
#include "monitor/snapshot.h"

namespace reveza::monitor {

struct ScreenSize {
  int width = 80;
  int height = 24;  // 0: as many lines as there are
  bool unicode = true;
};

// What the user has chosen.
struct ViewState {
  Arrangement arrangement;
  std::string selected;  // key of a row; empty: the first
  bool help = false;
  bool typing_filter = false;  // keys go to the filter
  std::string question;        // to be answered with y or n; empty: none
  std::string asked_request;   // what is done after a y, and to which job
  std::string asked_socket;
  std::string message;  // what became of the last request
};

// One line a cell row; `height` lines unless it is 0.
std::vector<Line> Draw(const Snapshot& snapshot, const History& history, const ScreenSize& size,
                       const ViewState& state);

// The values as a line of `cells` letters, the newest last; a blank where there is none. `top` is
// the value of a full letter; nothing: the largest of them.
std::u32string Sparkline(const History::Values& values, std::size_t cells,
                         std::optional<double> top, bool unicode);

}  // namespace reveza::monitor

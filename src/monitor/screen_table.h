// The table of the page: a heading and its rows, those around the chosen one where there is too
// little room. Thread-safety: pure functions.
#pragma once

#include <vector>

#include "monitor/canvas.h"
#include "monitor/rows.h"
#include "monitor/screen.h"

namespace reveza::monitor {

// At most `room` lines, heading included; 0: all, and nothing is chosen.
void DrawTable(Canvas& canvas, const std::vector<Row>& rows, const ViewState& state, int room);

}  // namespace reveza::monitor

// The pictures put together: one page, or one SVG, that loads nothing and runs nothing.
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "phi/plot/plot_facts.h"

namespace reveza::phi {

std::string HtmlPage(const PlotFacts& facts);
// Without the words around, in colors for paper.
std::string SvgPicture(const PlotFacts& facts);

}  // namespace reveza::phi

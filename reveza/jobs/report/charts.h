// Pictures for a page, as SVG. Texts are escaped. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reveza::jobs {

// Replaces the characters that HTML and SVG give a meaning, and control characters.
std::string EscapeHtml(std::string_view text);

struct Span {
  double begin = 0;  // seconds
  double end = 0;
  std::string style;  // a CSS class: "done", "failed", ...
  std::string label;
};

// Draws spans in as few lanes as possible, so that those of a lane do not overlap; `shown` receives
// the number of lanes, of which at most kMaxLanes are drawn. Neighbours that no screen could tell
// apart are drawn as one.
inline constexpr std::size_t kMaxLanes = 64;
std::string TimeLine(std::vector<Span> spans, std::size_t& lanes);

struct Point {
  double x = 0;
  double y = 0;
  std::string label;
};

// Draws points over numbers, or over the positions 0, 1, ... of `categories`.
std::string Scatter(const std::vector<Point>& points, const std::vector<std::string>& categories,
                    const std::string& x_name, const std::string& y_name);

}  // namespace reveza::jobs

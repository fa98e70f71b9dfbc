// The files of the page, embedded at build time: its HTML, style, scripts, texts, and the chart
// library. They contain no data.
#pragma once

#include <span>
#include <string_view>

namespace reveza::page {

struct Asset {
  std::string_view path;  // of the URL
  std::string_view type;  // Content-Type
  std::string_view text;
};

// "/" is the page. Empty if the chart library was not there at build time.
std::span<const Asset> Assets();

}  // namespace reveza::page

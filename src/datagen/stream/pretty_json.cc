#include "datagen/stream/pretty_json.h"

#include <cstddef>
#include <string>

namespace reveza::datagen {
namespace {

constexpr std::size_t kIndent = 2;

void NewLine(std::size_t depth, TextBuffer& text) {
  text.Append("\n");
  text.Append(std::string(kIndent * depth, ' '));
}

// Past the end of the string that begins at `begin`.
std::size_t EndOfString(std::string_view json, std::size_t begin) {
  std::size_t at = begin + 1;
  while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return at + 1;
}

}  // namespace

void AppendPretty(std::string_view json, TextBuffer& text) {
  std::size_t depth = 0;
  std::size_t at = 0;
  while (at < json.size()) {
    const char byte = json[at];
    std::size_t end = at + 1;
    if (byte == '"') {
      end = EndOfString(json, at);
      text.Append(json.substr(at, end - at));
    } else if (byte == '{' || byte == '[') {
      text.Append(json.substr(at, 1));
      NewLine(++depth, text);
    } else if (byte == '}' || byte == ']') {
      NewLine(--depth, text);
      text.Append(json.substr(at, 1));
    } else {
      text.Append(json.substr(at, 1));
      if (byte == ',') NewLine(depth, text);
      if (byte == ':') text.Append(" ");
    }
    at = end;
  }
}

}  // namespace reveza::datagen

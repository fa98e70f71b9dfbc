#include "datagen/text_format.h"

#include <array>
#include <cassert>
#include <charconv>

namespace reveza::datagen {
namespace {

constexpr int kMostDigits = 20;

// What may not stand in a JSON string as it is.
bool NeedsEscape(char character) {
  return character == '"' || character == '\\' || static_cast<unsigned char>(character) < 0x20;
}

void AppendEscaped(std::string& text, char character) {
  switch (character) {
    case '"':
      text += "\\\"";
      return;
    case '\\':
      text += "\\\\";
      return;
    case '\n':
      text += "\\n";
      return;
    case '\r':
      text += "\\r";
      return;
    case '\t':
      text += "\\t";
      return;
    default:
      break;
  }
  static constexpr std::string_view kHexadecimal = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(character);
  text += "\\u00";
  text += kHexadecimal[code >> 4];
  text += kHexadecimal[code & 15];
}

}  // namespace

void AppendInteger(std::string& text, int64_t value) {
  std::array<char, kMostDigits> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

void AppendDecimal(std::string& text, int64_t value, int places) {
  assert(places >= 0 && places <= 18);
  // Unsigned, for the least number has no positive counterpart.
  uint64_t size = static_cast<uint64_t>(value);
  if (value < 0) size = 0 - size;
  std::array<char, kMostDigits + 2> digits;  // with a sign and a point
  char* const end = digits.data() + digits.size();
  char* next = end;
  for (int place = 0; place < places || size > 0 || place == places; ++place) {
    if (place == places && places > 0) *--next = '.';
    *--next = static_cast<char>('0' + size % 10);
    size /= 10;
  }
  if (value < 0) *--next = '-';
  text.append(next, end);
}

void AppendCsvText(std::string& text, std::string_view value, char separator) {
  const std::array<char, 4> special = {separator, '"', '\n', '\r'};
  const std::string_view wanted(special.data(), special.size());
  if (!value.empty() && value.find_first_of(wanted) == std::string_view::npos) {
    text += value;
    return;
  }
  text += '"';
  for (const char character : value) {
    if (character == '"') text += '"';
    text += character;
  }
  text += '"';
}

void AppendJsonText(std::string& text, std::string_view value) {
  text += '"';
  size_t plain = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    if (!NeedsEscape(value[i])) continue;
    text += value.substr(plain, i - plain);
    AppendEscaped(text, value[i]);
    plain = i + 1;
  }
  text += value.substr(plain);
  text += '"';
}

}  // namespace reveza::datagen

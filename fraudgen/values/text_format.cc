#include "fraudgen/values/text_format.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <charconv>
#include <iterator>

namespace reveza::fraudgen {
namespace {

constexpr int kMaxDigits = 20;

bool NeedsEscape(char character) {
  return character == '"' || character == '\\' || static_cast<unsigned char>(character) < 0x20;
}

void AppendEscaped(std::string& text, char character) {
  static constexpr std::string_view kCharacters = "\"\\\n\r\t";
  static constexpr std::string_view kLetters = "\"\\nrt";
  if (const auto index = kCharacters.find(character); index != kCharacters.npos) {
    text += '\\';
    text += kLetters[index];
    return;
  }
  fmt::format_to(std::back_inserter(text), "\\u{:04x}", static_cast<unsigned char>(character));
}

}  // namespace

void AppendInteger(std::string& text, int64_t value) {
  std::array<char, kMaxDigits> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

void AppendDecimal(std::string& text, int64_t value, int places) {
  assert(places >= 0 && places <= 18);
  // Unsigned, because INT64_MIN has no positive counterpart.
  uint64_t size = static_cast<uint64_t>(value);
  if (value < 0) size = 0 - size;
  std::array<char, kMaxDigits + 2> digits;  // with a sign and a point
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

}  // namespace reveza::fraudgen

// Names of options as names of arguments. A pure function.
#pragma once

#include <string>
#include <string_view>

namespace reveza::python {

// Returns a message in which options, such as --fraud-rate, are named as arguments: fraud_rate.
inline std::string WithKeywords(std::string_view message) {
  std::string text;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  for (std::size_t i = 0; i < message.size();) {
    const bool begins = message.substr(i).starts_with("--") && i + 2 < message.size() &&
                        is_letter(message[i + 2]) && (i == 0 || message[i - 1] != '-');
    if (!begins) {
      text += message[i++];
      continue;
    }
    for (i += 2; i < message.size(); ++i) {
      const bool joins = message[i] == '-' && i + 1 < message.size() && is_letter(message[i + 1]);
      if (!is_letter(message[i]) && !joins) break;
      text += joins ? '_' : message[i];
    }
  }
  return text;
}

}  // namespace reveza::python

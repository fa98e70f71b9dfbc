// Help in Brazilian Portuguese. A text is translated by its English words, so the programs have one
// source of texts and a translation that is missing shows the original.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/platform/runtime_paths.h"

namespace reveza::command_line {

struct Translation {
  std::string_view english;
  std::string_view portuguese;
};

// Returns whether the language of messages (LC_ALL, else LC_MESSAGES, else LANG) is Portuguese.
bool IsPortuguese(const platform::Environment& environment);

// Replaces each message of a text. Messages are paragraphs, and what stands behind a gap in a line
// that begins with two spaces (examples with an explanation); the rest of such lines is kept.
// `translate` gets a message in one line, and returns "" to keep it.
std::string TranslateText(std::string_view text,
                          const std::function<std::string(std::string_view message)>& translate);

// Translates the texts of an app and of all its commands: those of the program by `program`, those
// that all programs have by a table of this room.
void TranslateToPortuguese(CLI::App& app, std::span<const Translation> program);

// Returns the distinct messages of an app, in the order of their appearance, with those of CLI11.
std::vector<std::string> Messages(CLI::App& app);

}  // namespace reveza::command_line

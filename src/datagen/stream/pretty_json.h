// A JSON object of one line over many lines, as a person reads it; every value stays as it was
// written. Pure.
#pragma once

#include <string_view>

#include "datagen/output/text_buffer.h"

namespace reveza::datagen {

// Appends it without an end of line, each level two blanks further in. `json` is whole and has no
// blanks between its parts.
void AppendPretty(std::string_view json, TextBuffer& text);

}  // namespace reveza::datagen

// Formats values for CSV and JSON: exact and locale-independent, without floating point. Each
// function appends to `text`. Reentrant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reveza::fraudgen {

void AppendInteger(std::string& text, int64_t value);

// Appends `value`, in units of 10^-places, with all its places: 1250 with 2 is 12.50. `places` is 0
// to 18.
void AppendDecimal(std::string& text, int64_t value, int places);

// Appends a CSV field (RFC 4180), quoted if it contains the separator, a quote or a line break. An
// empty string is written as "", to distinguish it from null, which is an empty field.
void AppendCsvText(std::string& text, std::string_view value, char separator);

// Appends a JSON string with its quotes. `value` is UTF-8 and is not escaped beyond what JSON
// needs.
void AppendJsonText(std::string& text, std::string_view value);

}  // namespace reveza::fraudgen

// How values are written in CSV and JSON: exact, the same on every machine, without the C library's
// floating point and locale. Each appends to `text`. Safe from any thread that owns `text`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reveza::datagen {

void AppendInteger(std::string& text, int64_t value);

// `value` counts units of 10^-places and is written with all its places: 1250 with 2 is 12.50.
// `places` from 0 to 18.
void AppendDecimal(std::string& text, int64_t value, int places);

// A field of CSV (RFC 4180): in quotes if it holds the separator, a quote or an end of line. An
// empty text is "" in quotes, so that it is not the empty field of a null.
void AppendCsvText(std::string& text, std::string_view value, char separator);

// A JSON string, quotes included. `value` is UTF-8, which is left as it is.
void AppendJsonText(std::string& text, std::string_view value);

}  // namespace reveza::datagen

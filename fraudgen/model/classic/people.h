// Names, e-mail addresses and telephone numbers of customers and drivers, drawn independently of
// each other as in the original. Reentrant.
#pragma once

#include <cstdint>
#include <string>

#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen::classic {

// Append the next row's text, derived from 64 random bits.
void AppendName(ColumnValues& names, uint64_t bits);
// At an example domain.
void AppendEmail(ColumnValues& emails, uint64_t bits);
// In one of several formats, with an arbitrary area code; one in ten is a service number.
void AppendPhone(ColumnValues& phones, uint64_t format_bits, uint64_t digit_bits);

// Appends `count` random digits derived from `bits`.
void AppendDigits(std::string& text, uint64_t bits, int count);

}  // namespace reveza::fraudgen::classic

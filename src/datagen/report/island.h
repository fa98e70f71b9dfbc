// The facts as the page reads them. Pure functions.
#pragma once

#include <string>

#include "datagen/report/facts.h"

namespace reveza::datagen::report {

enum class Language { kEnglish, kPortuguese };

// One object of JSON, which may stand inside an HTML page whatever the names of folders and columns
// are: it has no '<' and is plain ASCII.
std::string IslandOf(const Facts& facts, Language language);

}  // namespace reveza::datagen::report

// The page that shows a report: one file that loads nothing. Safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace reveza::datagen::report {

// False in a build that had no chart library to put into the page.
bool HavePage();
// The page with these facts, as IslandOf writes them. Only where there is one.
std::string PageWith(std::string_view island);

}  // namespace reveza::datagen::report

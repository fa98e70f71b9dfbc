// A build without the chart library.
#include "datagen/report/page.h"

namespace reveza::datagen::report {

bool HavePage() { return false; }

std::string PageWith(std::string_view) { return {}; }

}  // namespace reveza::datagen::report

// Rules for data whose origin is not known, in standard SQL.
#pragma once

#include <string>

#include "fraudgen/model/model.h"
#include "fraudgen/run/settings.h"

namespace reveza::fraudgen::check {

// Returns one query over the tables of the model that gives each rule with the number of rows that
// break it. Columns of nested records are left out: their names depend on the format.
std::string SqlRules(const Settings& settings, const Model& model);

}  // namespace reveza::fraudgen::check

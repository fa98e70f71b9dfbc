// One value as a person reads it. A pure function.
#pragma once

#include <cstddef>
#include <string>

#include "datagen/batch.h"

namespace reveza::datagen {

// A value that is not null, as text formats have it.
std::string ValueText(const Batch& batch, std::size_t column, std::size_t row);

}  // namespace reveza::datagen

// The banks that customers and receivers of payments have, by their code at the clearing house.
#pragma once

#include "datagen/lists/commerce.h"

namespace reveza::datagen {

using lists::kBankCodes;

}  // namespace reveza::datagen

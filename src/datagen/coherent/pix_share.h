// How many payments are PIX, before any is made. Pure functions.
#pragma once

#include <cstdint>

#include "datagen/coherent/parameters.h"

namespace reveza::datagen::coherent {

// Of a million honest rows, about so many.
uint64_t HonestPixMillionths(const Parameters& parameters);
// Of a million frauds.
uint64_t FraudPixMillionths(const Parameters& parameters);

}  // namespace reveza::datagen::coherent

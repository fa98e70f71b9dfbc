// How much people pay, so that their income lasts. Functions, safe from any thread.
#pragma once

#include <cstdint>

#include "datagen/coherent/draws.h"
#include "datagen/coherent/world.h"

namespace reveza::datagen::coherent {

// What a customer's payments to people are multiplied by, in units of kOne; `rows_a_month` is in
// sixteenths.
int64_t SpendingScale(const World& world, const Person& person, uint64_t rows_a_month);
// Of a payment to a person, before the scale, in cents.
int64_t PersonsMedian(const ProfileHabits& habits);
// One payment to a person, around `median`: mostly a round sum.
int64_t PersonsAmount(int64_t median, Draws& draws);

}  // namespace reveza::datagen::coherent

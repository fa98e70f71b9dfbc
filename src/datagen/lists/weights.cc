#include "datagen/lists/weights.h"

#include <cassert>
#include <utility>

namespace reveza::datagen::lists {

WeightedChoice ChoiceOf(std::span<const uint32_t> weights) {
  Result<WeightedChoice> choice = WeightedChoice::Make(weights);
  assert(choice);
  return *std::move(choice);
}

}  // namespace reveza::datagen::lists

// Rules that customers of both models keep.
#pragma once

#include "datagen/check/row_rules.h"

namespace reveza::datagen::check {

// Of the columns cpf and address.state.
bool IsCpfOfState(std::span<const Field> fields, std::size_t row);
// Of email.
bool IsExampleAddress(std::span<const Field> fields, std::size_t row);

}  // namespace reveza::datagen::check

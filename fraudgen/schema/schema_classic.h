// The columns of the classic model's tables as enumerations, such as
// RidesColumn::kPickupLocationLat, and those of their categories. Constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace reveza::fraudgen::classic {

#include "generated/fraudgen/schema/tables/classic/customers_columns.inc"
#include "generated/fraudgen/schema/tables/classic/devices_columns.inc"
#include "generated/fraudgen/schema/tables/classic/drivers_columns.inc"
#include "generated/fraudgen/schema/tables/classic/rides_columns.inc"
#include "generated/fraudgen/schema/tables/classic/transactions_columns.inc"

}  // namespace reveza::fraudgen::classic

// The banks that customers and receivers of payments have, by their code at the clearing house.
#pragma once

#include <array>
#include <string_view>

namespace reveza::datagen {

inline constexpr std::array<std::string_view, 24> kBankCodes = {
    "001", "341", "104", "237", "033", "260", "077", "336", "290", "380", "323", "756",
    "748", "208", "655", "623", "403", "212", "422", "070", "280", "121", "707", "318"};

}  // namespace reveza::datagen

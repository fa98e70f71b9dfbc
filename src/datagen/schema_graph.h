// Who deals with whom, for graph tools: a table of nodes and one of edges. Constant data, safe from
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "datagen/schema.h"

namespace reveza::datagen {

// The enumerators are the indices of their names, which are the values of a column.
enum class NodeKind : uint8_t { kCustomer, kAccount, kDevice, kMerchant };
inline constexpr std::array<std::string_view, 4> kNodeKindNames = {"CUSTOMER", "ACCOUNT", "DEVICE",
                                                                   "MERCHANT"};

enum class EdgeKind : uint8_t { kOwns, kUses, kSends, kPays };
inline constexpr std::array<std::string_view, 4> kEdgeKindNames = {"OWNS", "USES", "SENDS", "PAYS"};

extern const Table kNodes;
extern const Table kEdges;
std::span<const Table* const> GraphTables();

}  // namespace reveza::datagen

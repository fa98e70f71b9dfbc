// The tables that are made of the rows of a model: the graph, for graph tools, and the answer key
// of injected defects, with the enumerations of their columns and categories. Constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

#include "generated/fraudgen/schema/tables/derived/defects_columns.inc"
#include "generated/fraudgen/schema/tables/derived/edges_columns.inc"
#include "generated/fraudgen/schema/tables/derived/nodes_columns.inc"

extern const Table kNodes;
extern const Table kEdges;
std::span<const Table* const> GraphTables();

extern const Table kDefects;
// The tables of either model into which defects may be injected.
inline constexpr std::array<std::string_view, 2> kBreakableTables = {"transactions", "rides"};

}  // namespace reveza::fraudgen

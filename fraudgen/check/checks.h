// The checks of the rows of a data set. Not thread-safe.
#pragma once

#include <memory>
#include <optional>

#include "fraudgen/check/table_check.h"
#include "fraudgen/run/settings.h"

namespace reveza::fraudgen::check {

// Taxpayer numbers are well-formed, and all check digits match or, with safe identities, none does.
std::unique_ptr<TableCheck> CheckCpfs();

// Frauds are spread evenly over blocks; and rows, frauds and days match the stored settings, if
// known.
std::unique_ptr<TableCheck> CheckLabels(std::optional<Settings> settings);

// Rules between the values of one row.
std::unique_ptr<TableCheck> CheckClassicRules();
std::unique_ptr<TableCheck> CheckCoherentRules();

// Distributions of values: chi-square for categories, Kolmogorov-Smirnov for numbers.
std::unique_ptr<TableCheck> CheckClassicShares();
std::unique_ptr<TableCheck> CheckCoherentShares(const coherent::Parameters& parameters);

// Consistency between the rows of the coherent model, block by block: payments, rides, and the
// tables that refer to them, which must come before transactions and rides. Keeps the customers of
// one block in memory, not their payments.
std::unique_ptr<TableCheck> CheckTimeline();

// Nodes are unique, edges connect nodes, and the edges of payments match the payments. Within a
// block, nodes must come before edges, and edges before payments.
std::unique_ptr<TableCheck> CheckGraph();

}  // namespace reveza::fraudgen::check

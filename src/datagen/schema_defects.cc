#include "datagen/schema_defects.h"

#include "datagen/schema_column.h"

namespace reveza::datagen {
namespace {

constexpr auto kColumns = std::to_array<Column>({
    CategoryColumn("table_name", kNeverNull, kBreakableTables, "Table of the row",
                   "Tabela da linha", "each table has its defects in order of `position`"),
    TextColumn("row_id", kNeverNull, "Identifier of the row", "Identificador da linha",
               "its `transaction_id` or `ride_id`, which is never damaged"),
    CategoryColumn("kind", kNeverNull, kDefectKindNames, "What is wrong with it", "Defeito",
                   "a row has one defect at most"),
    CountColumn("position", kNeverNull, "", "Where the row stands", "Posição da linha",
                "from 1, over all files of the table in the order of their names"),
    CountColumn("original_position", kNeverNull, "", "Where it would stand",
                "Posição sem os defeitos",
                "the same, in the table without `--defects`; of a duplicate the first one's"),
    TextColumn("column_name", kMayBeNull, "Column of the wrong value", "Coluna do valor errado",
               "only of null and schema"),
    TextColumn("right_value", kMayBeNull, "What was right", "Valor certo",
               "only of null and schema; as CSV has it"),
});

}  // namespace

const Table kDefects = {"defects",
                        "Answer key: one row a defect that `--defects` asked for, and no others.",
                        "Gabarito: uma linha por defeito pedido com `--defects`.", kColumns};

}  // namespace reveza::datagen

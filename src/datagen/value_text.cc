#include "datagen/value_text.h"

#include "datagen/civil_time.h"
#include "datagen/text_format.h"

namespace reveza::datagen {

std::string ValueText(const Batch& batch, std::size_t column, std::size_t row) {
  const Column& what = batch.table().columns[column];
  const ColumnValues& values = batch.column(column);
  std::string text;
  switch (what.type) {
    case ColumnType::kText:
      text = values.TextAt(row);
      break;
    case ColumnType::kCategory:
      text = what.values[values.codes[row]];
      break;
    case ColumnType::kBoolean:
      text = values.flags[row] != 0 ? "true" : "false";
      break;
    case ColumnType::kInteger:
      AppendInteger(text, values.numbers[row]);
      break;
    case ColumnType::kDecimal:
      AppendDecimal(text, values.numbers[row], what.decimal_places);
      break;
    case ColumnType::kDate: {
      const DateText date = FormatDate(DateOf(values.numbers[row]));
      text.assign(date.data(), date.size());
      break;
    }
    case ColumnType::kTimestamp: {
      const TimeText time = FormatTime(values.numbers[row]);
      text.assign(time.data(), time.size());
      break;
    }
  }
  return text;
}

}  // namespace reveza::datagen

#include <array>

#include "datagen/lists/devices.h"
#include "datagen/schema.h"

namespace reveza::datagen {
namespace {

constexpr auto kColumns = std::to_array<Column>({
    {"device_id",
     ColumnType::kText,
     0,
     "",
     Nullable::kNo,
     "Identifier",
     "Identificador",
     "`DEV_` and 12 digits",
     {}},
    {"customer_id",
     ColumnType::kText,
     0,
     "",
     Nullable::kNo,
     "Its owner",
     "Dono do aparelho",
     "a row of the customers",
     {}},
    {"type", ColumnType::kCategory, 0, "", Nullable::kNo, "Kind of device", "Tipo de aparelho",
     "preferred by the profile; by weight without one", lists::kDeviceTypes},
    {"manufacturer", ColumnType::kCategory, 0, "", Nullable::kNo, "Manufacturer", "Fabricante",
     "uniform in the list of the type", lists::kManufacturers},
    {"model", ColumnType::kCategory, 0, "", Nullable::kNo, "Model", "Modelo",
     "uniform in the list of the manufacturer, whatever the type", lists::kDeviceModelNames},
    {"operating_system", ColumnType::kCategory, 0, "", Nullable::kNo, "Operating system",
     "Sistema operacional", "uniform in the list of the type", lists::kOperatingSystems},
    {"fingerprint",
     ColumnType::kText,
     0,
     "",
     Nullable::kNo,
     "Fingerprint",
     "Impressão digital do aparelho",
     "32 hexadecimal digits",
     {}},
    {"first_use",
     ColumnType::kDate,
     0,
     "",
     Nullable::kNo,
     "First day of use",
     "Primeiro uso",
     "uniform in the last two years",
     {}},
    {"is_trusted",
     ColumnType::kBoolean,
     0,
     "",
     Nullable::kNo,
     "Whether the bank trusts it",
     "Aparelho confiável",
     "85 %",
     {}},
    {"is_rooted_jailbroken",
     ColumnType::kBoolean,
     0,
     "",
     Nullable::kNo,
     "Whether its protection was removed",
     "Root ou jailbreak",
     "3 %",
     {}},
});

}  // namespace

const Table kDevices = {"devices", "One row for each telephone or computer of a customer.",
                        "Uma linha por aparelho de cada cliente.", kColumns};

}  // namespace reveza::datagen

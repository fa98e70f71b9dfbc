#include "fraudgen/model/coherent/fill_columns.h"
#include "fraudgen/model/coherent/ip_text.h"
#include "fraudgen/model/coherent/tables.h"

namespace reveza::fraudgen::coherent {

void FillSessions(const Identity& identity, std::span<const SessionRow> rows, Batch& batch) {
  ColumnFiller<SessionRow> fill(rows, batch);
  const Presence has_device =
      fill.Where([](const SessionRow& row) { return row.device != kNoDevice; });
  fill.Identifier("session_id", identity.sessions, &SessionRow::number);
  fill.Identifier("customer_id", identity.customers, &SessionRow::customer);
  fill.Identifier("account_id", identity.accounts, &SessionRow::customer);
  fill.IdentifierIf("device_id", identity.devices, has_device, &SessionRow::device);
  fill.ShortTextIf(
      "ip_address", has_device, [](char* out, const SessionRow& row) { return PutIp(out, row.ip); },
      [](const SessionRow& row) { return KeyOfIp(row.ip); });
  fill.Number("started_at", &SessionRow::time);
  fill.Code("channel", &SessionRow::channel);
  fill.Code("authentication", &SessionRow::authentication);
  fill.Code("outcome", &SessionRow::outcome);
  fill.Number("failed_attempts", &SessionRow::failed_attempts);
  fill.Flag("device_registered", &SessionRow::device_registered);
  fill.Flag("sim_changed", &SessionRow::sim_changed);
  fill.Flag("password_reset", &SessionRow::password_reset);
  fill.Flag("limit_requested", &SessionRow::limit_requested);
  fill.Flag("pix_key_added", &SessionRow::pix_key_added);
  fill.Flag("remote_access", &SessionRow::remote_access);
}

}  // namespace reveza::fraudgen::coherent

#include "fraudgen/model/coherent/change_log.h"

#include <algorithm>
#include <tuple>

namespace reveza::fraudgen::coherent {
namespace {

// Returns the income in cents after a rise or, less often, a cut.
int64_t OtherIncome(int64_t income, Draws& draws) {
  const int64_t percent = draws.Chance(750'000) ? draws.Between(102, 125) : draws.Between(70, 96);
  return std::max<int64_t>(income * percent / 100, 10'000);
}

int64_t OtherLimit(int64_t limit, Draws& draws) {
  const int64_t percent = draws.Chance(700'000) ? draws.Between(110, 180) : draws.Between(50, 90);
  return std::max<int64_t>(limit * percent / 100, 10'000);
}

}  // namespace

void ChangeLog::Begin(const Slice& slice) {
  end_ = slice.end();
  changes_.clear();
  new_devices_.clear();
  const auto now = [this](const ChangeRow& change) { return change.time < end_; };
  std::ranges::copy_if(later_, std::back_inserter(changes_), now);
  std::erase_if(later_, now);
}

void ChangeLog::SimulateMonth(CustomerState& customer, const Slice& slice) {
  const Person& person = customer.person;
  if (person.opened_at >= slice.begin() && person.opened_at < slice.end()) {
    for (const ChangeKind kind : {ChangeKind::kAccountOpened, ChangeKind::kPixKeyAdded}) {
      Add(person.number, person.opened_at, kind);
    }
  }
  if (person.closes_at >= slice.begin() && person.closes_at < slice.end()) {
    for (const ChangeKind kind : {ChangeKind::kPixKeyRemoved, ChangeKind::kAccountClosed}) {
      Add(person.number, person.closes_at, kind);
    }
  }
  for (std::size_t i = 0; i < kLifeChanges; ++i) {
    const auto kind = static_cast<LifeChange>(i);
    for (uint32_t year = world_->YearOf(slice.begin()); year <= world_->YearOf(slice.end() - 1);
         ++year) {
      const int64_t time = world_->ChangeIn(person.number, kind, year);
      if (time == kNever || time < slice.begin() || time >= slice.end()) continue;
      if (time > person.opened_at && time < person.closes_at) Change(customer, kind, time);
    }
  }
  customer.SortScheduled();
}

void ChangeLog::Change(CustomerState& customer, LifeChange kind, int64_t time) {
  const Person& person = customer.person;
  ChangeRow change = {.time = time, .customer = person.number};
  Draws draws(Mix(person.key + static_cast<uint64_t>(time)));
  switch (kind) {
    case LifeChange::kAddress:
      change.kind = ChangeKind::kAddressChanged;
      change.after = world_->CountChanges(person.number, kind, person.opened_at, time);
      change.before = change.after - 1;
      break;
    case LifeChange::kPhone:
      change.kind = ChangeKind::kPhoneChanged;
      break;
    case LifeChange::kEmail:
      change.kind = ChangeKind::kEmailChanged;
      break;
    case LifeChange::kIncome:
      change.kind = ChangeKind::kIncomeChanged;
      change.before = customer.FinalValue(kind);
      change.after = OtherIncome(change.before, draws);
      break;
    case LifeChange::kCreditLimit:
      change.kind = ChangeKind::kLimitChanged;
      change.before = customer.FinalValue(kind);
      change.after = OtherLimit(change.before, draws);
      break;
    case LifeChange::kPixKey:
      return ReplaceKey(person.number, time);
    case LifeChange::kSim:
      return SwapSim(customer, time);
  }
  changes_.push_back(change);
  if (kind == LifeChange::kPhone || kind == LifeChange::kEmail) {
    const KeyType key = identity_->OwnerOf(person, time).key_type;
    if (key == (kind == LifeChange::kPhone ? KeyType::kPhone : KeyType::kEmail)) {
      ReplaceKey(person.number, time);
    }
    return;
  }
  customer.Schedule({.time = time, .kind = kind, .value = change.after});
}

void ChangeLog::ReplaceKey(uint64_t customer, int64_t time) {
  for (const ChangeKind kind : {ChangeKind::kPixKeyRemoved, ChangeKind::kPixKeyAdded}) {
    Add(customer, time, kind);
  }
}

void ChangeLog::SwapSim(const CustomerState& customer, int64_t time) {
  Add(customer.person.number, time, ChangeKind::kSimChanged);
}

void ChangeLog::AddUse(CustomerState& customer, const KnownDevice& device) {
  customer.devices.push_back(device);
  new_devices_.push_back({.device = device.device,
                          .customer = customer.person.number,
                          .since = device.since,
                          .profile = customer.person.profile});
}

void ChangeLog::AddDevice(CustomerState& customer, const KnownDevice& device) {
  AddUse(customer, device);
  changes_.push_back({.time = device.since,
                      .customer = customer.person.number,
                      .device = device.device,
                      .kind = ChangeKind::kDeviceAdded});
}

void ChangeLog::ReplacePhone(CustomerState& customer, int64_t time) {
  if (customer.next_slot >= kTerminalSlot) return;
  const KnownDevice bought = {
      .device = world_->CustomersDevice(customer.person.number, customer.next_slot++),
      .since = time};
  const DeviceNumber old = customer.main_device.device;
  Draws draws(Mix(bought.device + 1));
  if (draws.Chance(400'000)) {
    AddUse(customer, bought);
    changes_.push_back({.time = time,
                        .customer = customer.person.number,
                        .device = bought.device,
                        .old_device = old,
                        .kind = ChangeKind::kDeviceReplaced});
    return;
  }
  AddDevice(customer, bought);
  if (draws.Chance(600'000)) RemoveDevice(customer, old, time + draws.Between(kDay, 60 * kDay));
}

void ChangeLog::RemoveDevice(const CustomerState& customer, DeviceNumber device, int64_t time) {
  if (time >= customer.person.closes_at || time >= world_->end()) return;
  (time < end_ ? changes_ : later_)
      .push_back({.time = time,
                  .customer = customer.person.number,
                  .old_device = device,
                  .kind = ChangeKind::kDeviceRemoved});
}

Status ChangeLog::Put(TableBatches& tables) {
  if (world_->written_end() != world_->end()) {
    // In time order, so that a later end only appends.
    const int64_t end = world_->written_end();
    std::erase_if(changes_, [end](const ChangeRow& change) { return change.time >= end; });
    std::erase_if(new_devices_, [end](const DeviceUseRow& device) { return device.since >= end; });
    std::ranges::sort(new_devices_, {}, [](const DeviceUseRow& device) {
      return std::tuple(device.since, device.customer, device.device);
    });
  }
  std::ranges::sort(changes_, {}, [](const ChangeRow& change) {
    return std::tuple(change.time, change.customer, change.kind, change.device, change.old_device);
  });
  for (const ChangeRow& change : changes_) {
    RETURN_IF_ERROR(tables.Put(change));
  }
  for (const DeviceUseRow& device : new_devices_) {
    RETURN_IF_ERROR(tables.Put(device));
  }
  return {};
}

}  // namespace reveza::fraudgen::coherent

#include "fraudgen/model/coherent/customer_state.h"

#include <algorithm>

#include "fraudgen/model/coherent/fixed_point.h"
#include "fraudgen/model/coherent/society.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr int64_t kDaysOfBusinessIncome = 4;
constexpr int64_t kMaxIncomes = 3;  // kept on the account; the excess goes to savings

// Draws the number of a customer's devices; must be their first draw.
uint32_t DevicesOf(const ProfileHabits& profile, Draws& draws) {
  return static_cast<uint32_t>(draws.Between(profile.devices));
}

}  // namespace

CustomerState::CustomerState(const World& world, uint64_t number, uint64_t block,
                             uint64_t rows_a_month)
    : person(world.PersonOf(number)), world_(&world) {
  Draws draws(person.key ^ 1);
  opening_balance = person.income * draws.Between(200, 1'500) / 1'000;
  balance = opening_balance;
  scale = SpendingScale(world, person, rows_a_month);
  goods_scale = Exp2((Log2(static_cast<uint64_t>(scale)) - 16 * kOne) / 2);
  const bool business = person.profile == Profile::kBusinessOwner;
  income_part_ = business ? person.income * kDaysOfBusinessIncome / 30 : person.income;
  next_income_ = std::max(world.begin(), person.opened_at) / kDay * kDay;
  NextIncome();
  MakeContacts(world, block);
  MakeDevices(world);
}

void CustomerState::MakeContacts(const World& world, uint64_t block) {
  static constexpr std::array<uint32_t, kProfiles> kMinContacts = {10, 6, 16, 10, 8, 10};
  Draws draws(world.keys().Of(Purpose::kContacts, person.number));
  const uint32_t min = kMinContacts[static_cast<std::size_t>(person.profile)];
  const auto count = static_cast<std::size_t>(draws.Between(min, min + 20));
  contacts = Society(world, block).ContactsOf(person, count);
  old_ = person.opened_at < world.begin();
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    // The most frequent contacts were known before the data begin.
    const bool known = old_ && draws.Below(count + 6) >= i;
    if (known) known_contacts |= uint64_t{1} << i;
  }
}

void CustomerState::MakeDevices(const World& world) {
  const ProfileHabits& profile = world.parameters().HabitsOf(person.profile);
  Draws draws(person.key ^ 2);
  const uint32_t count = DevicesOf(profile, draws);
  const auto add = [&](DeviceNumber device) {
    const int64_t latest = std::max(person.opened_at, world.begin() - 3 * kDay);
    const int64_t earliest = std::max(person.opened_at, world.begin() - 2 * 365 * kDay);
    devices.push_back({device, draws.Between(earliest, latest)});
    // A new account uses all devices from the start.
    if (person.opened_at >= world.begin()) devices.back().since = person.opened_at;
  };
  for (uint32_t slot = 0; slot < count; ++slot) add(world.CustomersDevice(person.number, slot));
  main_device = devices[0];
  second_device = devices[count > 1 ? 1 : 0];
  next_slot = count;
  if (const auto host = world.TerminalHostOf(person.number)) {
    add(world.CustomersDevice(*host, kTerminalSlot));
    second_device = devices.back();
  }
  if (person.home_key == person.key) return;
  // A phone or computer of the household's head.
  const uint64_t head = world.HeadOfHousehold(person.number);
  const Person owner = world.BriefPersonOf(head);
  Draws theirs(owner.key ^ 2);
  const uint32_t max = DevicesOf(world.parameters().HabitsOf(owner.profile), theirs);
  const uint32_t slot = max > 1 && owner.key % 2 != 0 ? 1 : 0;
  add(world.CustomersDevice(head, slot));
  (slot == 0 ? main_device : second_device) = devices.back();
}

void CustomerState::NextIncome() {
  if (person.profile == Profile::kBusinessOwner) {
    next_income_ += kDaysOfBusinessIncome * kDay;
    return;
  }
  const CivilDate now = DateOf(next_income_ / kDay);
  const auto payday = [this](CivilDate date) {
    const auto paid = static_cast<int32_t>(world_->parameters().calendar.paydays[person.payday]);
    const int32_t day = std::min(paid, DaysInMonth(date.year, date.month));
    return DaysOf({date.year, date.month, day}) * kDay + 5 * kHour;
  };
  const int64_t next = payday(now);
  next_income_ = next > next_income_ ? next : payday(AddMonths({now.year, now.month, 1}, 1));
}

void CustomerState::Begin(int64_t time, std::vector<Movement>* movements) {
  if (next_credit_ <= time) ApplyCredits(time, movements);
  if (next_income_ <= time) CatchUp(time, movements);
  if (!scheduled_.empty() && scheduled_.front().time <= time) ApplyScheduled(time);
  if (oldest_ <= time - kDay) Expire(time);
  if (month.new_phone_at == kNever || time < month.new_phone_at) return;
  const auto bought = std::ranges::find(devices, month.new_phone_at, &KnownDevice::since);
  if (bought != devices.end()) {
    if (second_device.device == main_device.device) second_device = *bought;
    main_device = *bought;
  }
  month.new_phone_at = kNever;
}

void CustomerState::ExpectCredit(const Movement& credit, bool card) {
  credits_.push_back({.time = credit.time,
                      .amount = credit.amount,
                      .reference = credit.reference,
                      .kind = credit.kind,
                      .card = card});
  next_credit_ = std::min(next_credit_, credit.time);
}

void CustomerState::ApplyCredits(int64_t time, std::vector<Movement>* movements) {
  next_credit_ = kNothing;
  std::erase_if(credits_, [&](const Credit& credit) {
    if (credit.time > time) {
      next_credit_ = std::min(next_credit_, credit.time);
      return false;
    }
    // A credit beyond the current bill reduces the next one.
    (credit.card ? credit_used : balance) += credit.card ? -credit.amount : credit.amount;
    if (movements != nullptr && !credit.card) {
      movements->push_back({.time = credit.time,
                            .amount = credit.amount,
                            .reference = credit.reference,
                            .kind = credit.kind});
    }
    return true;
  });
}

int64_t CustomerState::FinalValue(LifeChange kind) const {
  int64_t value = kind == LifeChange::kIncome ? person.income : person.credit_limit;
  for (const ScheduledChange& news : scheduled_) {
    if (news.kind == kind) value = news.value;
  }
  return value;
}

void CustomerState::ApplyScheduled(int64_t time) {
  const auto later = std::ranges::find_if(
      scheduled_, [time](const ScheduledChange& news) { return news.time > time; });
  for (auto news = scheduled_.begin(); news != later; ++news) {
    switch (news->kind) {
      case LifeChange::kAddress:
        person.home = world_->HomeAfter(person, static_cast<uint32_t>(news->value));
        break;
      case LifeChange::kIncome:
        income_part_ = income_part_ * news->value / person.income;
        scale = std::clamp(scale * news->value / person.income, kOne / 4, 3 * kOne);
        person.income = news->value;
        break;
      default:
        person.credit_limit = news->value;
    }
  }
  scheduled_.erase(scheduled_.begin(), later);
}

void CustomerState::CatchUp(int64_t time, std::vector<Movement>* movements) {
  const bool business = person.profile == Profile::kBusinessOwner;
  while (next_income_ <= time) {
    ApplyScheduled(next_income_);
    const auto book = [&](EntryKind kind, int64_t amount) {
      balance += amount;
      if (movements == nullptr || amount == 0) return;
      movements->push_back(
          {.time = std::max(next_income_, person.opened_at), .amount = amount, .kind = kind});
    };
    const bool december = DateOf(next_income_ / kDay).month == 12;
    const int64_t income = income_part_ * month.income_thousandths / 1'000;
    book(business ? EntryKind::kBusinessIncome : EntryKind::kSalary, income);
    if (december && !business) book(EntryKind::kThirteenthSalary, income);
    const int64_t bill = std::max<int64_t>(0, std::min(credit_used, balance * 9 / 10));
    book(EntryKind::kCardBill, -bill);
    credit_used -= bill;
    book(EntryKind::kSavingsDeposit, std::min<int64_t>(0, kMaxIncomes * person.income - balance));
    NextIncome();
  }
}

void CustomerState::Expire(int64_t time) {
  while (recent_head_ < recent_.size() && recent_[recent_head_].time <= time - kDay) {
    recent_amount -= recent_[recent_head_].amount;
    --recent_rows;
    ++recent_head_;
  }
  oldest_ = recent_head_ < recent_.size() ? recent_[recent_head_].time : kNothing;
}

// Drops expired rows to avoid growing the vector, unless many rows would have to move.
void CustomerState::DropOldRows() {
  if (recent_.size() < recent_.capacity() || recent_head_ * 4 < recent_.size()) return;
  recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(recent_head_));
  recent_head_ = 0;
}

bool CustomerState::KnewShop(AccountNumber shop) const {
  return old_ && Mix(person.key ^ shop) % 100 < 85;
}

bool CustomerState::HasPaid(const Row& row) const {
  if (row.stranger) return false;
  if (row.contact >= 0) return (known_contacts >> row.contact & 1) != 0;
  if (row.receiver_is_shop && CityOf(row.merchant) == person.city && KnewShop(row.receiver)) {
    return true;
  }
  const auto contact = std::ranges::find(contacts, row.receiver) - contacts.begin();
  if (contact < std::ssize(contacts)) return (known_contacts >> contact & 1) != 0;
  return std::ranges::find(others_, HashOf(row.receiver)) != others_.end();
}

void CustomerState::RememberPaid(const Row& row) {
  if (row.stranger) return;
  const auto contact =
      row.contact >= 0 ? row.contact : std::ranges::find(contacts, row.receiver) - contacts.begin();
  if (contact < std::ssize(contacts)) {
    known_contacts |= uint64_t{1} << contact;
  } else {
    others_.push_back(HashOf(row.receiver));
  }
}

const KnownDevice* CustomerState::FindAmongAll(DeviceNumber device) const {
  const auto found = std::ranges::find(devices, device, &KnownDevice::device);
  return found == devices.end() ? nullptr : &*found;
}

void CustomerState::Remember(const Row& row) {
  last_time = row.time;
  if (row.has_place) {
    last_place = row.place;
    has_last_place = true;
  }
  ++hours[static_cast<std::size_t>(row.time % kDay / kHour)];
  ++rows;
  const int64_t amount = Log2(static_cast<uint64_t>(std::max<int64_t>(row.amount, 1)));
  usual_amount = rows == 1 ? amount : usual_amount + (amount - usual_amount) / 16;
  const bool paid = row.status == PaymentStatus::kApproved;
  if (oldest_ == kNothing) oldest_ = row.time;
  DropOldRows();
  recent_.push_back({row.time, paid ? row.amount : 0});
  recent_amount += recent_.back().amount;
  ++recent_rows;
  if (row.new_beneficiary && IsPaid(row)) RememberPaid(row);
  if (row.receiver == debt.to) debt = {};
  last_paid = {};
  if (row.kind == Kind::kPix && !row.stranger && !row.is_fraud) {
    last_paid = {.time = row.time,
                 .to = row.receiver,
                 .merchant = row.merchant,
                 .contact = row.contact,
                 .shop = row.receiver_is_shop};
  }
}

namespace {

// The part of the income that is spent, in thousandths.
constexpr int64_t kSpentThousandths = 850;
constexpr int64_t kDeviation = 85'000;

// Payments to people are round sums.
int64_t RoundSum(int64_t amount, uint64_t bits) {
  amount = std::max<int64_t>(amount, 200);
  if (bits % 100 < 30 && amount > 5'000) return amount - amount % 5'000;
  if (bits % 100 < 55 && amount > 1'000) return amount - amount % 1'000;
  if (bits % 100 < 70 && amount > 500) return amount - amount % 500;
  return amount;
}

}  // namespace

int64_t SpendingScale(const World& world, const Person& person, uint64_t rows_a_month) {
  const int64_t wanted = world.parameters().HabitsOf(person.profile).mean_amount *
                         static_cast<int64_t>(std::max<uint64_t>(rows_a_month, 16)) / 16;
  return std::clamp(person.income * kSpentThousandths / 1'000 * kOne / wanted, kOne / 4, 3 * kOne);
}

int64_t PersonsMedian(const ProfileHabits& habits) {
  return static_cast<int64_t>(
      SquareRoot(static_cast<uint64_t>(habits.amount.min * habits.amount.max)));
}

int64_t PersonsAmount(int64_t median, Draws& draws) {
  const int64_t amount = LogNormal(draws.Bits(), median, kDeviation);
  return RoundSum(amount, draws.Bits());
}

}  // namespace reveza::fraudgen::coherent

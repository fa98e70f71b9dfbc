#include "datagen/coherent/customer_state.h"

#include <algorithm>

#include "datagen/coherent/spending.h"

namespace reveza::datagen::coherent {
namespace {

constexpr int64_t kDaysOfBusinessIncome = 4;
constexpr int64_t kMostIncomes = 3;  // on the account; the rest is saved

// The first that is drawn of a customer's devices.
uint32_t DevicesOf(const ProfileHabits& profile, Draws& draws) {
  return static_cast<uint32_t>(draws.Between(profile.least_devices, profile.most_devices));
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
  static constexpr std::array<uint32_t, kProfiles> kLeast = {10, 6, 16, 10, 8, 10};
  Draws draws(world.keys().Of(Purpose::kContacts, person.number));
  const uint32_t least = kLeast[static_cast<std::size_t>(person.profile)];
  const auto count = static_cast<std::size_t>(draws.Between(least, least + 20));
  const uint64_t first = world.FirstCustomer(block);
  old_ = person.opened_at < world.begin();
  const std::size_t most = std::min<std::size_t>(count, kMostContacts);
  contacts.reserve(most);
  while (contacts.size() < most) {
    AccountNumber account = world.ContactAccount(draws.Bits());
    if (draws.Chance(world.parameters().population.contacts_inside))
      account = first + draws.Below(world.Customers(block));
    if (account == person.number) account = world.ContactAccount(draws.Bits());
    // Those paid most often are known of old.
    const bool known = old_ && draws.Below(count + 6) >= contacts.size();
    if (std::ranges::find(contacts, account) != contacts.end()) continue;
    if (known) known_contacts |= uint64_t{1} << contacts.size();
    contacts.push_back(account);
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
    // A new account begins with all of them.
    if (person.opened_at >= world.begin()) devices.back().since = person.opened_at;
  };
  for (uint32_t slot = 0; slot < count; ++slot) add(world.CustomersDevice(person.number, slot));
  main_device = devices[0];
  second_device = devices[count > 1 ? 1 : 0];
  next_slot = count;
  if (person.home_key == person.key) return;
  // The telephone of somebody at home, or the computer of all.
  const uint64_t head = world.HeadOfHousehold(person.number);
  const Person owner = world.BriefPersonOf(head);
  Draws theirs(owner.key ^ 2);
  const uint32_t most = DevicesOf(world.parameters().HabitsOf(owner.profile), theirs);
  const uint32_t slot = most > 1 && owner.key % 2 != 0 ? 1 : 0;
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

void CustomerState::Begin(int64_t time) {
  if (next_credit_ <= time) TakeCredits(time);
  if (next_income_ <= time) CatchUp(time);
  if (!news_.empty() && news_.front().time <= time) TakeNews(time);
  if (oldest_ <= time - kDay) Expire(time);
  if (month.new_phone_at == kNever || time < month.new_phone_at) return;
  const auto bought = std::ranges::find(devices, month.new_phone_at, &KnownDevice::since);
  if (bought != devices.end()) {
    if (second_device.device == main_device.device) second_device = *bought;
    main_device = *bought;
  }
  month.new_phone_at = kNever;
}

void CustomerState::Expect(int64_t time, int64_t amount, bool card) {
  credits_.push_back({time, amount, card});
  next_credit_ = std::min(next_credit_, time);
}

void CustomerState::TakeCredits(int64_t time) {
  next_credit_ = kNothing;
  std::erase_if(credits_, [&](const Credit& credit) {
    if (credit.time > time) {
      next_credit_ = std::min(next_credit_, credit.time);
      return false;
    }
    // More than was bought since the last bill: it is less next time.
    (credit.card ? credit_used : balance) += credit.card ? -credit.amount : credit.amount;
    return true;
  });
}

int64_t CustomerState::Planned(LifeChange kind) const {
  int64_t value = kind == LifeChange::kIncome ? person.income : person.credit_limit;
  for (const News& news : news_) {
    if (news.kind == kind) value = news.value;
  }
  return value;
}

void CustomerState::TakeNews(int64_t time) {
  const auto later =
      std::ranges::find_if(news_, [time](const News& news) { return news.time > time; });
  for (auto news = news_.begin(); news != later; ++news) {
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
  news_.erase(news_.begin(), later);
}

void CustomerState::CatchUp(int64_t time) {
  while (next_income_ <= time) {
    TakeNews(next_income_);
    const bool december = DateOf(next_income_ / kDay).month == 12;
    const int64_t income = income_part_ * month.income_thousandths / 1'000;
    balance += december && person.profile != Profile::kBusinessOwner ? 2 * income : income;
    const int64_t bill = std::max<int64_t>(0, std::min(credit_used, balance * 9 / 10));
    balance -= bill;
    credit_used -= bill;
    balance = std::min(balance, kMostIncomes * person.income);
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

// Few rows fall into a day: those done are dropped rather than that more memory is taken, unless
// many would have to move for it.
void CustomerState::DropOldRows() {
  if (recent_.size() < recent_.capacity() || recent_head_ * 4 < recent_.size()) return;
  recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(recent_head_));
  recent_head_ = 0;
}

bool CustomerState::HasPaid(const Row& row) const {
  if (row.stranger) return false;
  if (row.contact >= 0) return (known_contacts >> row.contact & 1) != 0;
  // Most shops around the corner are known of old.
  if (row.receiver_is_shop && old_ && Mix(person.key ^ row.receiver) % 100 < 85) return true;
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    if (contacts[i] == row.receiver) return (known_contacts >> i & 1) != 0;
  }
  return std::ranges::find(others_, row.receiver) != others_.end();
}

void CustomerState::RememberPaid(const Row& row) {
  if (row.stranger) return;
  if (row.contact >= 0) {
    known_contacts |= uint64_t{1} << row.contact;
    return;
  }
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    if (contacts[i] == row.receiver) {
      known_contacts |= uint64_t{1} << i;
      return;
    }
  }
  others_.push_back(row.receiver);
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
}

}  // namespace reveza::datagen::coherent

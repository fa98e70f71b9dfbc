#include "fraudgen/model/coherent/log_ins.h"

#include <algorithm>

#include "fraudgen/model/coherent/honest.h"

namespace reveza::fraudgen::coherent {
namespace {

// Rates of honest log-ins in millionths; those that resemble frauds rise with the difficulty.
constexpr uint64_t kFails = 20'000;
constexpr uint64_t kElsewhere = 10'000;  // from a device that is not the customer's
constexpr uint64_t kReset = 4'000;
constexpr uint64_t kLimit = 4'000;
constexpr uint64_t kHelped = 1'500;
constexpr uint64_t kReinstalled = 12'000;  // the app, or cookies that were deleted
constexpr uint64_t kElsewhereReset = 200'000;
constexpr uint64_t kElsewhereLimit = 50'000;
constexpr uint64_t kPreparedReset = 300'000;
constexpr uint64_t kPreparedLimit = 300'000;
constexpr uint64_t kPreparedHelped = 60'000;
constexpr uint64_t kPreparedElsewhere = 300'000;
constexpr int64_t kSeniorsHelped = 3;  // times as many

// Devices that customers log in with but do not own or pay with: above those of a life.
constexpr uint32_t kOtherSlots = 40;
constexpr uint64_t kOwnOtherDevices = 3;
// Fraudsters' devices that never pay: above those that do, and those of rings.
constexpr uint64_t kTryingDevices = uint64_t{3} << 20;
constexpr uint64_t kTryingDevicesOfOne = 8;

SessionChannel ChannelOf(const Row& row) {
  switch (row.channel) {
    case Channel::kWebBanking:
      return SessionChannel::kWebBanking;
    case Channel::kWhatsappPay:
      return SessionChannel::kWhatsappPay;
    case Channel::kBranch:
      return SessionChannel::kBranch;
    default:
      return SessionChannel::kMobileApp;
  }
}

bool UsesBiometrics(const Person& person) { return Mix(person.key ^ 0x66616365u) % 100 < 65; }

}  // namespace

uint64_t LogInBehaviour::ChecksPerPayment(const Person& person) {
  return 200 + Mix(person.key ^ 0x636865636bu) % 700;
}

bool LogInBehaviour::Sometimes(uint64_t millionths, Draws& draws) const {
  return draws.Chance(millionths * world_->parameters().LookalikeFactor() / 1'000);
}

void LogInBehaviour::Authenticate(const CustomerState& customer, Draws& draws,
                                  SessionRow& row) const {
  switch (row.channel) {
    case SessionChannel::kMobileApp:
      row.authentication = UsesBiometrics(customer.person) && draws.Chance(900'000)
                               ? Authentication::kBiometrics
                               : Authentication::kPin;
      break;
    case SessionChannel::kWebBanking:
      row.authentication =
          draws.Chance(400'000) ? Authentication::kQrCode : Authentication::kPassword;
      break;
    case SessionChannel::kWhatsappPay:
      row.authentication = Authentication::kPin;
      break;
    case SessionChannel::kBranch:
      row.authentication = Authentication::kDocument;
      return;
  }
  const bool typed =
      row.authentication == Authentication::kPin || row.authentication == Authentication::kPassword;
  const uint64_t thousandths = draws.Below(1'000);
  const uint64_t once = typed ? 60 : 30;
  if (thousandths < once)
    row.failed_attempts = static_cast<uint8_t>(thousandths < once / 5 ? 2 : 1);
}

// Adds what customers do in any log-in, with or without a payment.
void LogInBehaviour::AddEvents(const CustomerState& customer, Draws& draws, SessionRow& row) const {
  const bool senior = customer.person.profile == Profile::kTraditionalSenior;
  if (Sometimes(kReset, draws)) row.password_reset = true;
  if (Sometimes(kLimit, draws)) row.limit_requested = true;
  if (Sometimes(senior ? kHelped * kSeniorsHelped : kHelped, draws)) {
    row.remote_access = row.channel != SessionChannel::kBranch;
  }
  if (row.channel == SessionChannel::kBranch) return;
  if (row.password_reset) row.failed_attempts = static_cast<uint8_t>(draws.Between(0, 4));
  row.device_registered =
      row.channel != SessionChannel::kWhatsappPay && Sometimes(kReinstalled, draws);
  if (row.password_reset || row.device_registered) AuthenticateAnew(draws, row);
}

void LogInBehaviour::AuthenticateAnew(Draws& draws, SessionRow& row) {
  row.authentication =
      draws.Chance(500'000) ? Authentication::kFacialRecognition : Authentication::kPassword;
}

SessionRow LogInBehaviour::OnOwnDevice(const CustomerState& customer, int64_t time,
                                       Draws& draws) const {
  const ProfileHabits& habits = world_->parameters().HabitsOf(customer.person.profile);
  SessionRow row = {.customer = customer.person.number, .time = time};
  KnownDevice phone = customer.main_device;
  KnownDevice other = customer.second_device;
  if (customer.month.new_phone_at != kNever && customer.month.new_phone_at <= time) {
    const auto bought =
        std::ranges::find(customer.devices, customer.month.new_phone_at, &KnownDevice::since);
    if (bought != customer.devices.end()) {
      if (other.device == phone.device) other = *bought;
      phone = *bought;
    }
  }
  // Before the phone was replaced.
  if (phone.since > time) phone = customer.devices.front();
  const bool web = draws.Below(100) < habits.web_percent && other.since <= time;
  row.device = web ? other.device : phone.device;
  row.channel = web ? SessionChannel::kWebBanking : SessionChannel::kMobileApp;
  row.ip = HonestBehaviour::OwnAddress(customer, time, draws);
  Authenticate(customer, draws, row);
  return row;
}

// Returns a log-in with a device that is not registered: another browser, a colleague's computer,
// or that of somebody who mistook the account for the own one.
SessionRow LogInBehaviour::Elsewhere(const CustomerState& customer, int64_t time,
                                     Draws& draws) const {
  const uint64_t number = customer.person.number;
  SessionRow row = {.customer = number, .time = time};
  const bool team = draws.Chance(400'000);
  const uint64_t owner = team ? world_->TeamOf(number) % world_->customers() : number;
  row.device = world_->CustomersDevice(
      owner,
      kOtherSlots + static_cast<uint32_t>(team ? kOwnOtherDevices : draws.Below(kOwnOtherDevices)));
  row.channel = draws.Chance(600'000) ? SessionChannel::kWebBanking : SessionChannel::kMobileApp;
  row.ip = draws.Chance(500'000)
               ? HonestBehaviour::OwnAddress(customer, time, draws)
               : HonestBehaviour::MobileAddress(customer.person.city, draws.Bits());
  row.authentication =
      draws.Chance(800'000) ? Authentication::kPassword : Authentication::kFacialRecognition;
  row.failed_attempts = static_cast<uint8_t>(draws.Chance(300'000) ? draws.Between(1, 3) : 0);
  return row;
}

SessionRow LogInBehaviour::Check(const CustomerState& customer, int64_t time, Draws& draws) const {
  const bool elsewhere = Sometimes(kElsewhere, draws);
  SessionRow row =
      elsewhere ? Elsewhere(customer, time, draws) : OnOwnDevice(customer, time, draws);
  if (draws.Chance(elsewhere ? 300'000 : kFails)) {
    row.outcome = SessionOutcome::kFailed;
    row.failed_attempts = static_cast<uint8_t>(draws.Between(1, 5));
    return row;
  }
  if (!elsewhere) {
    AddEvents(customer, draws, row);
    return row;
  }
  row.password_reset = draws.Chance(kElsewhereReset);
  row.limit_requested = draws.Chance(kElsewhereLimit);
  return row;
}

SessionRow LogInBehaviour::Preparation(const CustomerState& customer, int64_t time,
                                       Draws& draws) const {
  const bool elsewhere = draws.Chance(kPreparedElsewhere);
  SessionRow row =
      elsewhere ? Elsewhere(customer, time, draws) : OnOwnDevice(customer, time, draws);
  row.password_reset = draws.Chance(kPreparedReset);
  row.limit_requested = draws.Chance(kPreparedLimit);
  row.remote_access = !elsewhere && draws.Chance(kPreparedHelped);
  return row;
}

SessionRow LogInBehaviour::AfterFailure(const CustomerState& customer, const SessionRow& failed,
                                        int64_t time, Draws& draws) const {
  SessionRow row = failed;
  row.time = time;
  row.outcome = SessionOutcome::kSuccess;
  row.failed_attempts = 0;
  Authenticate(customer, draws, row);
  row.password_reset = draws.Chance(500'000);
  return row;
}

SessionRow LogInBehaviour::OfPayment(const CustomerState& customer, const Row& row, int64_t time,
                                     Draws& draws) const {
  SessionRow session = {.number = row.number,
                        .customer = row.customer,
                        .time = time,
                        .device = row.device,
                        .ip = row.ip,
                        .channel = ChannelOf(row)};
  Authenticate(customer, draws, session);
  AddEvents(customer, draws, session);
  return session;
}

SessionRow LogInBehaviour::OfFraudster(const CustomerState& customer, const FraudPlan& plan,
                                       uint64_t index, int64_t time, SessionOutcome outcome,
                                       Draws& draws) const {
  const Scenario& scenario = world_->parameters().scenarios[plan.scenario];
  const DeviceNumber paying = world_->FraudsterDevice(block_, plan.fraudster);
  const uint64_t trying = plan.fraudster * kTryingDevicesOfOne + index % kTryingDevicesOfOne;
  return {.customer = customer.person.number,
          .time = time,
          .device = world_->FraudsterDevice(block_, kTryingDevices + trying % (uint64_t{1} << 20)),
          .ip = fraud_->FraudsterAddress(paying + index % 3, time),
          .channel = scenario.web ? SessionChannel::kWebBanking : SessionChannel::kMobileApp,
          .authentication = draws.Chance(800'000) ? Authentication::kPassword
                                                  : Authentication::kFacialRecognition,
          .outcome = outcome,
          .failed_attempts = static_cast<uint8_t>(
              outcome == SessionOutcome::kFailed ? draws.Between(1, 3) : draws.Below(2))};
}

}  // namespace reveza::fraudgen::coherent

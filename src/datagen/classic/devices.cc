#include "datagen/classic/devices.h"

#include "datagen/classic/draws.h"
#include "datagen/fixed_text.h"
#include "datagen/lists/devices.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::classic {

Devices::Devices(const World& world)
    : world_(world), kinds_(lists::ChoiceOf(lists::kDeviceKindWeights)) {
  for (uint32_t draw = 0; draw < kDraws; ++draw) {
    draws_.push_back(world.Random(TableKey::kDevices, draw));
  }
}

// The first is what the profile likes best.
lists::DeviceKind Devices::KindOf(const Owner& owner, uint64_t number) const {
  const uint64_t bits = Random(Draw::kKind).Bits(number);
  if (!world_.profiles()) return static_cast<lists::DeviceKind>(kinds_.Of(bits));
  const auto preferred = lists::Profiles()[owner.traits.profile].devices;
  return owner.device == 0 ? preferred.front() : preferred[UpperProduct(bits, preferred.size())];
}

void Devices::Fill(std::span<const Owner> owners, Batch& batch) const {
  constexpr Identifier<4, 12> kDevice = {"DEV_"};
  constexpr Identifier<5, 12> kCustomer = {"CUST_"};
  constexpr std::size_t kPrint = 32;
  const std::size_t rows = batch.rows();
  char* device = BeginFixedTexts(Texts(batch, DeviceColumn::kDeviceId), rows, kDevice.kWidth);
  char* customer = BeginFixedTexts(Texts(batch, DeviceColumn::kCustomerId), rows, kCustomer.kWidth);
  char* print = BeginFixedTexts(Texts(batch, DeviceColumn::kFingerprint), rows, kPrint);
  const auto types = Codes(batch, DeviceColumn::kType);
  const auto manufacturers = Codes(batch, DeviceColumn::kManufacturer);
  const auto models = Codes(batch, DeviceColumn::kModel);
  const auto systems = Codes(batch, DeviceColumn::kOperatingSystem);
  const auto first_uses = Numbers(batch, DeviceColumn::kFirstUse);
  const auto trusted = Flags(batch, DeviceColumn::kIsTrusted);
  const auto rooted = Flags(batch, DeviceColumn::kIsRooted);
  const int64_t two_years_ago = DaysOf(AddMonths(world_.as_of(), -24));
  const auto use_days = static_cast<uint64_t>(world_.as_of_day() - two_years_ago) + 1;
  for (std::size_t i = 0; i < rows; ++i) {
    const uint64_t number = World::DeviceNumber(owners[i].customer, owners[i].device);
    kDevice.Write(device + i * kDevice.kWidth, number);
    kCustomer.Write(customer + i * kCustomer.kWidth, owners[i].customer + 1);
    WriteHex(print + i * kPrint, Random(Draw::kPrintUpper).Bits(number));
    WriteHex(print + i * kPrint + kPrint / 2, Random(Draw::kPrintLower).Bits(number));

    const lists::DeviceKind kind = KindOf(owners[i], number);
    const auto kind_index = static_cast<std::size_t>(kind);
    types[i] = lists::kTypeOfDeviceKind[kind_index];
    uint64_t bits = Random(Draw::kModel).Bits(number);
    const auto makers = lists::ManufacturersOf(kind);
    manufacturers[i] = makers[UpperProduct(bits, makers.size())];
    const lists::Slice of_maker = lists::kModelsOfManufacturer[manufacturers[i]];
    models[i] =
        static_cast<uint16_t>(of_maker.first + UpperProduct(LowerHalf(bits), of_maker.count));
    const lists::Slice of_kind = lists::kOperatingSystemsOfKind[kind_index];
    systems[i] =
        static_cast<uint16_t>(of_kind.first + Random(Draw::kSystem).Below(of_kind.count, number));

    bits = Random(Draw::kUse).Bits(number);
    first_uses[i] = two_years_ago + static_cast<int64_t>(UpperProduct(bits, use_days));
    trusted[i] = Percent(bits << 24) < 85;
    rooted[i] = Percent(bits << 44) < 3;
  }
}

}  // namespace reveza::datagen::classic

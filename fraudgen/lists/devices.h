// Phones, tablets and computers. Constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fraudgen/lists/slices.h"

namespace reveza::fraudgen::lists {

enum class DeviceKind : uint8_t {
  kAndroidPhone,
  kIosPhone,
  kWindowsDesktop,
  kMacDesktop,
  kAndroidTablet,
  kIosTablet,
};
inline constexpr std::size_t kDeviceKinds = 6;
// Frequency of each kind for customers without a profile.
inline constexpr std::array<uint32_t, kDeviceKinds> kDeviceKindWeights = {55, 25, 12, 4, 2, 2};

// The categories of devices.type.
inline constexpr std::array<std::string_view, 3> kDeviceTypes = {"SMARTPHONE", "DESKTOP", "TABLET"};
inline constexpr std::array<uint8_t, kDeviceKinds> kTypeOfDeviceKind = {0, 0, 1, 1, 2, 2};

namespace internal {
struct KindManufacturer {
  DeviceKind kind;
  std::string_view manufacturer;
};
inline constexpr auto kKindManufacturers = std::to_array<KindManufacturer>({
#include "generated/fraudgen/lists/device_manufacturers.inc"
});
}  // namespace internal

struct DeviceModel {
  DeviceKind kind;
  std::string_view manufacturer;
  std::string_view name;
};
inline constexpr auto kDeviceModels = std::to_array<DeviceModel>({
#include "generated/fraudgen/lists/device_models.inc"
});
inline constexpr auto kDeviceModelNames =
    MemberOf<std::string_view>(kDeviceModels, &DeviceModel::name);

// Each manufacturer once, in the order of the models.
inline constexpr std::size_t kManufacturerCount = [] {
  std::size_t count = 1;
  for (std::size_t i = 1; i < kDeviceModels.size(); ++i) {
    count += kDeviceModels[i].manufacturer != kDeviceModels[i - 1].manufacturer;
  }
  return count;
}();
inline constexpr auto kManufacturers = [] {
  std::array<std::string_view, kManufacturerCount> names{};
  std::size_t count = 0;
  for (const DeviceModel& model : kDeviceModels) {
    if (count == 0 || names[count - 1] != model.manufacturer) names[count++] = model.manufacturer;
  }
  return names;
}();
inline constexpr auto kModelsOfManufacturer = SlicesOf<kManufacturers.size()>(
    kDeviceModels, [](const DeviceModel& model, std::size_t manufacturer) {
      return model.manufacturer == kManufacturers[manufacturer];
    });

// The manufacturers of each kind, as indexes into kManufacturers.
inline constexpr auto kManufacturerOfKind = IndexesIn(kManufacturers, internal::kKindManufacturers,
                                                      &internal::KindManufacturer::manufacturer);
inline constexpr auto kManufacturersOfKind = SlicesOf<kDeviceKinds>(
    internal::kKindManufacturers, [](const internal::KindManufacturer& row, std::size_t kind) {
      return static_cast<std::size_t>(row.kind) == kind;
    });
constexpr std::span<const uint16_t> ManufacturersOf(DeviceKind kind) {
  return Part(kManufacturerOfKind, kManufacturersOfKind[static_cast<std::size_t>(kind)]);
}

// Returns a manufacturer's models of one kind; there must be at least one.
constexpr Slice ModelsOf(std::size_t manufacturer, DeviceKind kind) {
  Slice slice = kModelsOfManufacturer[manufacturer];
  while (kDeviceModels[slice.first].kind != kind) {
    ++slice.first;
    --slice.count;
  }
  uint16_t count = 1;
  while (count < slice.count && kDeviceModels[slice.first + count].kind == kind) ++count;
  return {slice.first, count};
}

// Each operating system once, grouped by device kind.
inline constexpr auto kOperatingSystems = std::to_array<std::string_view>(
    {"Android 11", "Android 12", "Android 13", "Android 14", "iOS 16", "iOS 17", "iOS 17.1",
     "iOS 17.2", "iOS 17.3", "iOS 17.4", "Windows 10", "Windows 11", "macOS Sonoma",
     "macOS Ventura", "macOS Monterey", "iPadOS 16", "iPadOS 17", "iPadOS 17.1", "iPadOS 17.2"});
inline constexpr std::array<Slice, kDeviceKinds> kOperatingSystemsOfKind = {
    {{0, 4}, {4, 6}, {10, 2}, {12, 3}, {1, 3}, {15, 4}}};

}  // namespace reveza::fraudgen::lists

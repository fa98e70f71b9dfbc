// Lenient access to fields of untrusted JSON: absent, null and mistyped fields read as missing.
// Pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace reveza::monitor {

// Adds `part` to `sum` if it is known.
template <typename T>
void AddTo(std::optional<T>& sum, const std::optional<T>& part) {
  if (part) sum = sum.value_or(T{}) + *part;
}

inline const nlohmann::json* FieldOf(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

inline std::optional<double> NumberAt(const nlohmann::json& object, const char* key) {
  const auto* field = FieldOf(object, key);
  if (field == nullptr || !field->is_number()) return std::nullopt;
  const auto value = field->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

inline std::optional<std::uint64_t> CountAt(const nlohmann::json& object, const char* key) {
  const auto* field = FieldOf(object, key);
  if (field == nullptr) return std::nullopt;
  if (field->is_number_unsigned()) return field->get<std::uint64_t>();
  if (field->is_number_integer() && field->get<std::int64_t>() >= 0) {
    return static_cast<std::uint64_t>(field->get<std::int64_t>());
  }
  return std::nullopt;
}

inline std::string TextAt(const nlohmann::json& object, const char* key) {
  const auto* field = FieldOf(object, key);
  return field != nullptr && field->is_string() ? field->get<std::string>() : std::string();
}

inline std::optional<bool> FlagAt(const nlohmann::json& object, const char* key) {
  const auto* field = FieldOf(object, key);
  return field != nullptr && field->is_boolean() ? std::optional(field->get<bool>()) : std::nullopt;
}

// Return an empty object or array if missing.
inline const nlohmann::json& ObjectAt(const nlohmann::json& object, const char* key) {
  static const nlohmann::json none = nlohmann::json::object();
  const auto* field = FieldOf(object, key);
  return field != nullptr && field->is_object() ? *field : none;
}

inline const nlohmann::json& ArrayAt(const nlohmann::json& object, const char* key) {
  static const nlohmann::json none = nlohmann::json::array();
  const auto* field = FieldOf(object, key);
  return field != nullptr && field->is_array() ? *field : none;
}

// Returns 0 if missing.
inline int PidAt(const nlohmann::json& object, const char* key) {
  const auto value = CountAt(object, key);
  return value && *value <= 0x7fff'ffff ? static_cast<int>(*value) : 0;
}

}  // namespace reveza::monitor

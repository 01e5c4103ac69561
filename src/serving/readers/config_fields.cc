#include "serving/readers/config_fields.h"

#include <fmt/format.h>

namespace comm_probe::serving {

using core::Json;

bool ConfigFields::has_prefix(const char* prefix) const {
  for (const auto& [key, value] : object_.items())
    if (key.starts_with(prefix) && !value.is_null()) return true;
  return false;
}

int ConfigFields::number(std::initializer_list<const char*> names, int most) {
  for (const char* name : names)
    if (has(name)) return checked(name, most);
  fail(fmt::format("no \"{}\"", *names.begin()),
       "expected the config.json of a Hugging Face model");
  return 0;
}

int ConfigFields::number_or(std::initializer_list<const char*> names, int most, int otherwise) {
  for (const char* name : names)
    if (has(name)) return checked(name, most);
  return otherwise;
}

int ConfigFields::number_from(const char* name, int least, int most, int otherwise) {
  if (!has(name)) return otherwise;
  const Json& value = object_[name];
  const double number = value.is_number() ? value.get<double>() : least - 1.0;
  if (number >= least && number <= most && number == static_cast<int>(number))
    return static_cast<int>(number);
  fail(fmt::format("\"{}\" is no whole number from {} to {}", name, least, most));
  return otherwise;
}

int ConfigFields::number_in(const ConfigFields& inner, const char* name, int most) {
  ConfigFields copy = inner;
  const int number = copy.number({name}, most);
  if (copy.error_ && !error_) error_ = copy.error_;
  return number;
}

bool ConfigFields::flag_or(const char* key, bool otherwise) const {
  return has(key) && object_[key].is_boolean() ? object_[key].get<bool>() : otherwise;
}

std::string ConfigFields::text(const char* key) const {
  return has(key) && object_[key].is_string() ? object_[key].get<std::string>() : "";
}

const Json& ConfigFields::list(const char* key) const {
  static const Json kEmpty = Json::array();
  return has(key) && object_[key].is_array() ? object_[key] : kEmpty;
}

const Json* ConfigFields::object(const char* key) const {
  return has(key) && object_[key].is_object() ? &object_[key] : nullptr;
}

void ConfigFields::fail(std::string message, std::string hint) {
  if (error_) return;
  error_ = core::input_error(std::move(message), std::move(hint));
  error_->where = {.file = file_, .line = {}, .offset = {}};
}

int ConfigFields::checked(const char* name, int most) {
  const Json& value = object_[name];
  const double number = value.is_number() ? value.get<double>() : -1;
  if (number >= 1 && number <= most && number == static_cast<int>(number))
    return static_cast<int>(number);
  fail(fmt::format("\"{}\" is {}, expected a whole number from 1 to {}", name,
                   value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 40), most));
  return 0;
}

}  // namespace comm_probe::serving

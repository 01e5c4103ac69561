// The members of one JSON object of a config.json, each checked; the first thing that is wrong is
// kept as the error, so that a reader asks for all it wants and looks once.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "core/json.h"
#include "core/result.h"

namespace comm_probe::serving {

class ConfigFields {
 public:
  // `object` must outlive it.
  ConfigFields(const core::Json& object, std::string file)
      : object_(object), file_(std::move(file)) {}

  // There and not null.
  bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }
  bool has_prefix(const char* prefix) const;
  // A whole number from 1 to `most`: the first of the names that is there. 0 and an error where
  // none is.
  int number(std::initializer_list<const char*> names, int most);
  int number_or(std::initializer_list<const char*> names, int most, int otherwise);
  // One that may be smaller than 1.
  int number_from(const char* name, int least, int most, int otherwise);
  // Of an object inside; what is wrong is kept here.
  int number_in(const ConfigFields& inner, const char* name, int most);
  bool flag_or(const char* key, bool otherwise) const;
  std::string text(const char* key) const;
  // Empty, null where there is none of that kind.
  const core::Json& list(const char* key) const;
  const core::Json* object(const char* key) const;

  void fail(std::string message, std::string hint = "");
  const std::optional<core::Error>& error() const { return error_; }
  const std::string& file() const { return file_; }

 private:
  int checked(const char* name, int most);

  const core::Json& object_;
  std::string file_;
  std::optional<core::Error> error_ = {};
};

}  // namespace comm_probe::serving

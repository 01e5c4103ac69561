#include "cli/size_range.h"

#include <fmt/format.h>

#include <cmath>

#include "core/units.h"

namespace comm_probe::cli {

void SizeRange::add_to(CLI::App& app) {
  options_ = {add_bytes(app, "-b,--minbytes", first_, "first size of a sweep")->default_str("8"),
              add_bytes(app, "-e,--maxbytes", last_, "last size of a sweep")->default_str("8G"),
              app.add_option("-f,--stepfactor", factor_, "factor between sizes")
                  ->type_name("F")
                  ->capture_default_str()};
}

bool SizeRange::is_given() const {
  for (const CLI::Option* option : options_)
    if (option->count() > 0) return true;
  return false;
}

core::Result<std::vector<core::Bytes>> SizeRange::sizes() const {
  if (!(factor_ >= 1.001 && factor_ <= 1e15))
    return core::input_error(fmt::format("-f {} is not a factor between sizes", factor_),
                             "give a number from 1.001, usually 2");
  if (first_.count() == 0)
    return core::input_error("-b 0 cannot be multiplied", "give -b 8 or another size above zero");
  if (first_ > last_)
    return core::input_error(
        fmt::format("-b {} is above -e {}", core::format_bytes(first_), core::format_bytes(last_)));
  std::vector<core::Bytes> sizes;
  // a small factor must still move on by a whole byte
  for (double size = first_.count(); size <= last_.count();
       size = std::max(size + 1, std::round(size * factor_)))
    sizes.push_back(core::Bytes::of(size));
  return sizes;
}

}  // namespace comm_probe::cli

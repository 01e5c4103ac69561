// The sizes of a sweep, as nccl-tests takes them: -b FIRST -e LAST -f FACTOR.
#pragma once

#include <vector>

#include "cli/shell.h"

namespace comm_probe::cli {

class SizeRange {
 public:
  // `-b 8 -e 8G -f 2` where nothing is given.
  void add_to(CLI::App& app);
  // Fails on a factor below 1.001, on a first size of zero or above the last one.
  core::Result<std::vector<core::Bytes>> sizes() const;
  bool is_given() const;

 private:
  core::Bytes first_ = core::Bytes::of(8);
  core::Bytes last_ = core::Bytes::of(8.0 * (1 << 30));
  double factor_ = 2;
  std::vector<const CLI::Option*> options_ = {};
};

}  // namespace comm_probe::cli

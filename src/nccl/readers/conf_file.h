// Reads an NCCL settings file (NCCL_CONF_FILE, ~/.nccl.conf, /etc/nccl.conf; NCCL 2.28.9
// src/misc/param.cc, setEnvFile): one NAME=VALUE per line, '#' only in column 1. Nothing is
// trimmed: blanks around '=' belong to the name or the value, quotes stay, "export X=1" sets a
// variable named "export X". Lines without '=' are ignored; name and value end after 1023
// characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::nccl {

struct ConfSetting {
  std::string name = {};
  std::string value = {};
  std::uint64_t line = 0;  // from 1
};
struct ConfFile {
  std::vector<ConfSetting> settings = {};
  // Lines that set nothing: no '='.
  std::vector<ConfSetting> ignored = {};  // `value` is the line
};
ConfFile read_conf_file(std::string_view text);

}  // namespace comm_probe::nccl

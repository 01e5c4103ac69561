// Which settings hold, and who said so: the environment first, then NCCL_CONF_FILE if that is set,
// else ~/.nccl.conf, then /etc/nccl.conf; what stands earlier is not overwritten (NCCL 2.28.9
// src/misc/param.cc; NCCL_CONF_FILE from 2.23). The home directory is that of the password
// database, not $HOME.
//
//   environment NCCL_DEBUG=WARN, /etc/nccl.conf NCCL_DEBUG=INFO and NCCL_NET=IB
//     -> NCCL_DEBUG=WARN (environment; the file's INFO is shadowed), NCCL_NET=IB (file, line 2)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/host.h"
#include "nccl/readers/conf_file.h"
#include "nccl/setting_text.h"
#include "topology/nccl_link_rates.h"

namespace comm_probe::nccl {

struct SettingsFile {
  enum class Role { kConfFile, kHome, kSystem };
  // Unreadable: there, but a folder or without the right to read it. Passed over: NCCL_CONF_FILE
  // is set and stands instead.
  enum class State { kRead, kAbsent, kUnreadable, kPassedOver };
  Role role = Role::kSystem;
  State state = State::kAbsent;
  std::string path = {};
  ConfFile content = {};
};

struct SettingSources {
  std::string environment_name = "environment";  // "environment of process 1234"
  // NCCL_*, and names that were probably meant so (nccl_debug, NCCLDEBUG, "NCCL_ALGO ").
  Environment environment = {};
  std::vector<SettingsFile> files = {};  // in the order of precedence
};

struct SettingOrigin {
  std::string source = {};  // "environment", or the path of a file
  std::optional<std::uint64_t> line = {};
  // "/etc/nccl.conf:3"
  std::string text() const;
};
struct ShadowedValue {
  std::string value = {};
  SettingOrigin origin = {};
};
struct SettingInForce {
  std::string name = {};
  std::string value = {};
  SettingOrigin origin = {};
  std::vector<ShadowedValue> shadowed = {};  // later sources with the same name
};
// By name. Names that do not begin with NCCL_ are kept where a file sets them.
std::vector<SettingInForce> settings_in_force(const SettingSources& sources);
// What NCCL sees after all files are applied.
Environment effective_environment(const std::vector<SettingInForce>& settings);

// Of this process on this machine.
SettingSources read_setting_sources(const core::Host& host, topology::NcclVersion version = {});
// Of a running process; fails where there is none, or where it may not be read.
core::Result<SettingSources> read_process_sources(const core::Host& host, int process,
                                                  topology::NcclVersion version = {});
// Of "NAME=VALUE" lines as `env` prints them, also with "export " and quotes as in a job script;
// other lines are skipped. No files.
SettingSources parse_environment_listing(const std::string& name, std::string_view text);

}  // namespace comm_probe::nccl

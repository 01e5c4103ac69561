// Every NCCL setting that matters for diagnosis: what it means, its default, what it accepts, how
// it is misread. Source: NCCL 2.28.9 src/misc/param.cc, src/debug.cc, src/misc/socket.cc,
// src/transport/*, src/graph/*, src/init.cc; defaults that changed: tags 2.14 to 2.29.
//
// Numbers are read once per process, at their first use: what a program sets later has no effect.
//
//   read_setting(*find_setting("NCCL_IB_DISABLE"), "true")
//     -> effective "0", problem kNotANumber: text counts as 0, InfiniBand stays on
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/setting_text.h"
#include "topology/nccl_link_rates.h"

namespace comm_probe::nccl {

enum class SettingForm {
  kNumber,   // C's strtoll, base 0
  kWord,     // one of the legal words, any case
  kWords,    // a list of the legal words, '^' excludes
  kLevel,    // LOC .. SYS, or the old digits
  kMethods,  // algo_lists.h
  kNames,    // devices or interfaces by prefix, '^' excludes, '=' exact
  kPath,     // a file
  kAddress,  // host:port
  kText,
};

struct SettingEntry {
  std::string_view name;
  SettingForm form = SettingForm::kNumber;
  std::string_view fallback = {};  // the default, for people
  std::string_view legal = {};     // "0..2", "1..22", "VERSION, WARN, INFO"; empty: anything
  std::string_view meaning = {};
  std::string_view misuse = {};   // how it is misread or misused; may be empty
  bool is_shared = false;         // must be equal on all ranks: else hangs or "Message truncated"
  std::string_view history = {};  // of the default, or the first release
  std::string_view instead = {};  // of an obsolete name: what to use
  int step = 1;                   // a value must be a multiple; else NCCL takes the maximum
  bool is_clamped = false;        // what lies outside of `legal` becomes its nearest end
  bool is_internal = false;       // a developers' knob, known by name
};

// In alphabetical order.
const std::vector<const SettingEntry*>& all_settings();
const SettingEntry* find_setting(std::string_view name);
// The known name that was probably meant: letters wrong within words, another case, an underscore
// too many or too few. Empty where none is near: NCCL_SHM_USE_X is not NCCL_P2P_USE_X.
std::string nearest_setting(std::string_view name);
// The release from which NCCL reads it, where the history says "from 2.24".
std::optional<topology::NcclVersion> first_release(const SettingEntry& entry);
// A name for plugins, tests, builds or images, not for NCCL: "NCCL_OFI_...", "NCCL_VERSION".
bool is_foreign_setting(std::string_view name);

enum class SettingProblem { kNone, kNotANumber, kTextAfterNumber, kOutOfRange, kUnknownWord };
struct SettingReading {
  std::string effective = {};  // what NCCL makes of the text
  SettingProblem problem = SettingProblem::kNone;
  std::string offender = {};  // the part of the text that is not accepted
};
// Of a value that is not empty.
SettingReading read_setting(const SettingEntry& entry, const std::string& value);

// Which of `names` a list of prefixes takes ("mlx5_1" takes mlx5_10 too, "=mlx5_1" does not).
std::vector<std::string> matched_names(const std::string& list,
                                       const std::vector<std::string>& names);
// Pairs of an item that is a whole name and the other names that it takes by prefix.
struct PrefixMatch {
  std::string item;
  std::vector<std::string> others;
};
std::vector<PrefixMatch> accidental_matches(const std::string& list,
                                            const std::vector<std::string>& names);

std::span<const SettingEntry> network_settings();
std::span<const SettingEntry> node_settings();
std::span<const SettingEntry> method_settings();
std::span<const SettingEntry> process_settings();
std::span<const SettingEntry> internal_settings();

}  // namespace comm_probe::nccl

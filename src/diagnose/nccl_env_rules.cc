#include "diagnose/nccl_env_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/spelling.h"
#include "nccl/algo_lists.h"
#include "nccl/settings.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using nccl::Allowed;
using nccl::SettingInForce;

bool is_on(const std::string& value) { return nccl::setting_number(value).value_or(0) == 1; }
bool is_off(const std::string& value) { return nccl::setting_number(value).value_or(1) == 0; }
bool is_local_level(const std::string& value) { return value == "LOC" || value == "0"; }
bool is_anywhere(const std::string& value) {
  return nccl::path_level(value) == topology::PathType::kSys;
}
bool is_socket(const std::string& value) { return core::upper(value) == "SOCKET"; }
bool is_few(const std::string& value) {
  const auto channels = nccl::setting_number(value);
  return channels && *channels > 0 && *channels < 16;
}

struct Leftover {
  const char* name;
  bool (*applies)(const std::string& value);
  const char* id;
  const char* effect;
};
constexpr Leftover kLeftovers[] = {
    {"NCCL_P2P_DISABLE", is_on, "nccl.env-p2p-off",
     "GPUs of one host do not reach each other directly (where they have NVLink, it stands idle): "
     "data goes through host memory or by NIC"},
    {"NCCL_P2P_LEVEL", is_local_level, "nccl.env-p2p-off",
     "GPUs of one host do not reach each other directly (where they have NVLink, it stands idle): "
     "data goes through host memory or by NIC"},
    {"NCCL_IB_GID_INDEX", is_off, "nccl.env-risky",
     "on RoCE row 0 of the GID table is link-local RoCE v1 on most hosts, the classic time-out "
     "(InfiniBand: without effect); unset it from 2.21 on, NCCL then looks for a routable row"},
    {"NCCL_NET_GDR_LEVEL", is_anywhere, "nccl.env-risky",
     "GPUDirect RDMA even through the CPUs, which is slow on many hosts and broken on some"},
    {"NCCL_SHM_DISABLE", is_on, "nccl.env-shm-off",
     "GPUs of one host that cannot talk directly use the network"},
    {"NCCL_IB_DISABLE", is_on, "nccl.env-ib-off", "TCP carries everything between nodes"},
    {"NCCL_NET", is_socket, "nccl.env-ib-off", "TCP carries everything between nodes"},
    {"NCCL_NET_GDR_LEVEL", is_local_level, "nccl.env-gdr-off",
     "everything between nodes is copied through host memory"},
    {"NCCL_NVLS_ENABLE", is_off, "nccl.env-feature-off", "no reduction in the NVSwitch"},
    {"NCCL_PXN_DISABLE", is_on, "nccl.env-feature-off", "no GPU sends by the NIC of a neighbour"},
    {"NCCL_NVB_DISABLE", is_on, "nccl.env-feature-off",
     "no way by NVLink through a GPU in between"},
    {"NCCL_NET_GDR_READ", is_off, "nccl.env-feature-off",
     "sends are copied through host memory, only receives go straight to the GPU"},
    {"NCCL_DMABUF_ENABLE", is_off, "nccl.env-feature-off", "GPUDirect RDMA needs nvidia_peermem"},
    {"NCCL_CUMEM_ENABLE", is_off, "nccl.env-feature-off",
     "no buffer registration, no lazy connections: more memory and slower starts"},
    {"NCCL_MNNVL_ENABLE", is_off, "nccl.env-feature-off", "hosts of one NVLink domain talk by NIC"},
    {"NCCL_MAX_NCHANNELS", is_few, "nccl.env-feature-off",
     "fewer channels than most searches find; each one less costs bandwidth"},
    {"NCCL_MAX_CTAS", is_few, "nccl.env-feature-off",
     "fewer channels than most searches find; each one less costs bandwidth"},
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Functions for which the lists leave nothing on any machine.
std::vector<std::string> functions_without(const nccl::MethodLists& lists) {
  using nccl::Algorithm;
  const auto has = [&](nccl::Function function, Algorithm algorithm) {
    return lists.of(function, algorithm) != Allowed::kNo;
  };
  const auto has_simple = [&](nccl::Function function) {
    return lists.of(function, nccl::Protocol::kSimple) != Allowed::kNo;
  };
  std::vector<std::string> names;
  for (const nccl::Function function : nccl::kAllFunctions) {
    bool is_left = has(function, Algorithm::kRing);
    if (function == nccl::Function::kAllReduce) is_left |= has(function, Algorithm::kTree);
    if (nccl::is_gathering(function))
      is_left |= has_simple(function) &&
                 (has(function, Algorithm::kPat) || has(function, Algorithm::kNvls) ||
                  has(function, Algorithm::kCollNetDirect));
    if (function == nccl::Function::kAllReduce)
      for (const Algorithm algorithm : {Algorithm::kNvls, Algorithm::kNvlsTree,
                                        Algorithm::kCollNetDirect, Algorithm::kCollNetChain})
        is_left |= has_simple(function) && has(function, algorithm);
    const bool has_protocol =
        std::any_of(nccl::kAllProtocols.begin(), nccl::kAllProtocols.end(),
                    [&](nccl::Protocol p) { return lists.of(function, p) != Allowed::kNo; });
    if (!is_left || !has_protocol) names.emplace_back(function_name(function));
  }
  return names;
}

bool forces_ll128(const nccl::MethodLists& lists) {
  return std::any_of(nccl::kAllFunctions.begin(), nccl::kAllFunctions.end(),
                     [&](nccl::Function function) {
                       return lists.of(function, nccl::Protocol::kLl128) == Allowed::kYes;
                     });
}

const char* devices_word(const std::string& name) {
  return name.find("IFNAME") != std::string::npos ? "interfaces" : "HCAs";
}

// The names of the machine that a list chooses from; nothing where they are not known.
const std::vector<std::string>* choices_of(const HostDevices& devices, const std::string& name) {
  if (name.find("IFNAME") == std::string::npos) return devices.hcas ? &*devices.hcas : nullptr;
  return devices.interfaces.empty() ? nullptr : &devices.interfaces;
}

void judge_list(const SettingInForce& setting, const std::vector<std::string>& names,
                Findings& findings) {
  const char* what = devices_word(setting.name);
  if (names.empty()) {
    findings.push_back(
        env_finding("nccl.env-no-match",
                    fmt::format("{}={}: this machine (or container) shows no {} at all",
                                setting.name, setting.value, what),
                    setting));
    return;
  }
  if (nccl::matched_names(setting.value, names).empty()) {
    findings.push_back(env_finding("nccl.env-no-match",
                                   fmt::format("{}={} matches none of the {} of this machine: {}",
                                               setting.name, setting.value, what, joined(names)),
                                   setting));
    return;
  }
  for (const nccl::PrefixMatch& match : nccl::accidental_matches(setting.value, names))
    findings.push_back(env_finding("nccl.env-prefix",
                                   fmt::format("{}: '{}' is a prefix and takes {} too",
                                               setting.name, match.item, joined(match.others)),
                                   setting));
}

const char* line_fault(const nccl::ConfSetting& setting) {
  if (setting.name.empty()) return "it has no name";
  if (setting.name.front() == ' ' || setting.name.front() == '\t')
    return "the name begins with a blank";
  if (setting.name.starts_with("export ")) return "the name begins with 'export '";
  if (setting.name.find_first_of(" \t") != std::string::npos) return "the name holds a blank";
  if (!setting.value.empty() && (setting.value.front() == ' ' || setting.value.front() == '\t'))
    return "the value begins with a blank";
  if (!setting.value.empty() &&
      (setting.value.back() == ' ' || setting.value.back() == '\t' || setting.value.back() == '\r'))
    return "the value ends with a blank";
  if (setting.value.size() >= 2 && (setting.value[0] == '"' || setting.value[0] == '\''))
    return "the quotes become part of the value";
  return nullptr;
}

// " NCCL_NET=IB" -> "NCCL_NET=IB"
std::string without_faults(const nccl::ConfSetting& setting) {
  const auto trimmed = [](std::string text, std::string_view what) {
    text.erase(0, std::min(text.find_first_not_of(what), text.size()));
    return text.erase(text.find_last_not_of(what) + 1);
  };
  std::string name = trimmed(setting.name, " \t");
  if (name.starts_with("export ")) name = trimmed(name.substr(7), " \t");
  return (name.empty() ? "NAME" : name) + "=" + trimmed(setting.value, " \t\r\"'");
}

void judge_conf_file(const nccl::SettingsFile& file, Findings& findings) {
  const auto add = [&](std::uint64_t line, const std::string& text, const std::string& fault) {
    Finding finding = core::make_finding(
        "nccl.env-conf-line",
        fmt::format("{}:{} does not do what it seems to do: {}", file.path, line, fault));
    finding.evidence.push_back({file.path, line, text});
    finding.confidence = core::Confidence::kCertain;
    findings.push_back(std::move(finding));
  };
  for (const nccl::ConfSetting& setting : file.content.settings)
    if (const char* fault = line_fault(setting))
      add(setting.line, setting.name + "=" + setting.value,
          fault + (", write " + without_faults(setting)));
  for (const nccl::ConfSetting& line : file.content.ignored)
    if (line.value.find_first_not_of(" \t\r") != std::string::npos)
      add(line.line, line.value, "it has no '=' and is ignored");
}

}  // namespace

void judge_methods(const EnvFacts& facts, Findings& findings) {
  const SettingInForce* algorithms = find_in_force(facts, "NCCL_ALGO");
  const SettingInForce* protocols = find_in_force(facts, "NCCL_PROTO");
  if (algorithms == nullptr && protocols == nullptr) return;
  const std::string no_value;
  const auto lists =
      nccl::parse_method_lists(algorithms != nullptr ? algorithms->value : no_value,
                               protocols != nullptr ? protocols->value : no_value, facts.version);
  if (!lists) {
    const bool is_protocol = lists.error().message.starts_with("NCCL_PROTO");
    findings.push_back(env_finding("nccl.env-method-refused", lists.error().one_line(),
                                   *(is_protocol ? protocols : algorithms)));
    return;
  }
  const SettingInForce& first = algorithms != nullptr ? *algorithms : *protocols;
  for (const std::string& word : lists->ignored)
    findings.push_back(env_finding(
        "nccl.env-word-unknown",
        fmt::format("'{}' of NCCL_ALGO or NCCL_PROTO is no such name; NCCL 2.{} ignores it (from "
                    "2.24 it is an error)",
                    word, facts.version.minor),
        first));
  const auto without = functions_without(*lists);
  if (!without.empty() && facts.version >= topology::NcclVersion{2, 24, 0})
    findings.push_back(
        env_finding("nccl.env-nothing-left",
                    fmt::format("{}={} leaves nothing for {}: the first such call fails",
                                first.name, first.value, joined(without)),
                    first));
  if (protocols != nullptr && forces_ll128(*lists))
    findings.push_back(env_finding(
        "nccl.env-ll128-forced",
        fmt::format("NCCL_PROTO={} forces LL128 without a check of the path", protocols->value),
        *protocols));
  for (const SettingInForce* setting : {algorithms, protocols})
    if (setting != nullptr) {
      findings.push_back(env_finding(
          "nccl.env-method-forced",
          fmt::format("{}={} takes the choice from NCCL", setting->name, setting->value),
          *setting));
      findings.back().next = {
          fmt::format("comm-probe nccl choose --op all_reduce --topo FILE --nodes N --env {}={}",
                      setting->name, setting->value)};
    }
}

void judge_leftovers(const EnvFacts& facts, Findings& findings) {
  for (const Leftover& leftover : kLeftovers) {
    const SettingInForce* setting = find_in_force(facts, leftover.name);
    if (setting == nullptr || !leftover.applies(setting->value)) continue;
    findings.push_back(env_finding(
        leftover.id, fmt::format("{}={}: {}", setting->name, setting->value, leftover.effect),
        *setting));
  }
}

void judge_log(const EnvFacts& facts, Findings& findings) {
  const SettingInForce* level = find_in_force(facts, "NCCL_DEBUG");
  const std::string word = level != nullptr ? core::upper(level->value) : std::string();
  const bool is_loud = word == "INFO" || word == "TRACE";
  const SettingInForce* parts = find_in_force(facts, "NCCL_DEBUG_SUBSYS");
  const SettingInForce* file = find_in_force(facts, "NCCL_DEBUG_FILE");
  if (is_loud)
    findings.push_back(
        env_finding("nccl.env-debug-on", fmt::format("NCCL_DEBUG={} is on", level->value), *level));
  if (is_loud && parts != nullptr && parts->value[0] != '^') {
    const std::string list = "," + core::upper(parts->value) + ",";
    if (list.find(",INIT,") == std::string::npos && list.find(",ALL,") == std::string::npos)
      findings.push_back(env_finding(
          "nccl.env-debug-parts",
          fmt::format("NCCL_DEBUG_SUBSYS={} leaves the INIT lines out of the log", parts->value),
          *parts));
  }
  if (file != nullptr && file->value.find("%h") == std::string::npos &&
      file->value.find("%p") == std::string::npos && level != nullptr && word != "VERSION" &&
      !file->value.starts_with("/dev/"))
    findings.push_back(env_finding(
        "nccl.env-debug-file",
        fmt::format("NCCL_DEBUG_FILE={} is one file for all ranks", file->value), *file));
}

void judge_devices(const EnvFacts& facts, Findings& findings) {
  if (!facts.devices) return;
  for (const SettingInForce& setting : facts.settings) {
    const nccl::SettingEntry* entry = nccl::find_setting(setting.name);
    if (entry == nullptr || setting.value.empty()) continue;
    if (entry->form == nccl::SettingForm::kNames)
      if (const auto* choices = choices_of(*facts.devices, setting.name))
        judge_list(setting, *choices, findings);
    const auto& files = facts.devices->files;
    if (entry->form == nccl::SettingForm::kPath && setting.name != "NCCL_CONF_FILE" &&
        std::find(files.begin(), files.end(), setting.value) == files.end())
      findings.push_back(env_finding(
          "nccl.env-file-absent",
          fmt::format("{}: there is no file {}", setting.name, setting.value), setting));
    const auto& plugins = facts.devices->absent_plugins;
    if (std::find(plugins.begin(), plugins.end(), setting.name) != plugins.end()) {
      findings.push_back(env_finding(
          "nccl.env-plugin-absent",
          fmt::format("{}={}: no such library in LD_LIBRARY_PATH, ld.so.cache or /usr/lib",
                      setting.name, setting.value),
          setting));
      findings.back().confidence = core::Confidence::kPossible;
    }
  }
}

void judge_sources(const EnvFacts& facts, Findings& findings) {
  for (const nccl::SettingsFile& file : facts.sources.files) {
    using State = nccl::SettingsFile::State;
    if (file.role == nccl::SettingsFile::Role::kConfFile && file.state != State::kRead) {
      if (const SettingInForce* setting = find_in_force(facts, "NCCL_CONF_FILE"))
        findings.push_back(env_finding(
            "nccl.env-conf-absent",
            fmt::format("NCCL_CONF_FILE={} {}, and ~/.nccl.conf is not read either", setting->value,
                        file.state == State::kAbsent
                            ? "does not exist"
                            : "cannot be read (a folder, or no right to read it)"),
            *setting));
    }
    judge_conf_file(file, findings);
  }
  for (const SettingInForce& setting : facts.settings)
    for (const nccl::ShadowedValue& other : setting.shadowed)
      if (other.value != setting.value)
        findings.push_back(env_finding(
            "nccl.env-shadowed",
            fmt::format("{}={} of {} does not count: {} says {}", setting.name, other.value,
                        other.origin.text(), setting.origin.text(), setting.value),
            setting));
}

}  // namespace comm_probe::diagnose

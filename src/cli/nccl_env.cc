#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <sstream>

#include "cli/nccl_commands.h"
#include "cli/nccl_env_view.h"
#include "cli/nccl_job.h"
#include "core/finding_table.h"
#include "core/host.h"
#include "core/input.h"
#include "core/number.h"
#include "core/spelling.h"

namespace comm_probe::cli {
namespace {

using core::Result;
using diagnose::EnvFacts;

constexpr std::uint64_t kMostListing = 16 << 20;

struct EnvOptions {
  std::vector<std::string> names = {};
  std::string from = {};
  std::string process_text = {};
  int process = 0;
  std::string version = {};
};

// As the loader looks for it, roughly: the folders of LD_LIBRARY_PATH, its cache, the usual ones.
bool has_library(const core::Host& host, const std::string& name) {
  if (name.find('/') != std::string::npos) return host.exists(name);
  std::stringstream folders(host.environment("LD_LIBRARY_PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && host.exists(folder + "/" + name)) return true;
  for (const char* folder : {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"})
    if (host.exists(std::string(folder) + "/" + name)) return true;
  return host.read("/etc/ld.so.cache").value_or("").find(name) != std::string::npos;
}

// Settings whose plugin was looked for in vain; a process of its own environment only.
std::vector<std::string> absent(const core::Host& host, const EnvFacts& facts) {
  constexpr std::pair<const char*, const char*> kPlugins[] = {
      {"NCCL_NET_PLUGIN", "libnccl-net-"}, {"NCCL_TUNER_PLUGIN", "libnccl-tuner-"}};
  std::vector<std::string> names;
  for (const auto& [setting, prefix] : kPlugins)
    for (const nccl::SettingInForce& one : facts.settings) {
      if (one.name != setting || one.value.empty() || one.value == "none") continue;
      if (!has_library(host, one.value) && !has_library(host, prefix + one.value + ".so"))
        names.emplace_back(setting);
    }
  return names;
}

diagnose::HostDevices devices_of(const core::Host& host, const EnvFacts& facts) {
  diagnose::HostDevices devices;
  if (host.exists("/sys/class")) devices.hcas = host.list("/sys/class/infiniband");
  devices.interfaces = host.list("/sys/class/net");
  if (facts.sources.environment_name == "environment") devices.absent_plugins = absent(host, facts);
  for (const nccl::SettingInForce& setting : facts.settings) {
    const nccl::SettingEntry* entry = nccl::find_setting(setting.name);
    if (entry != nullptr && entry->form == nccl::SettingForm::kPath && host.exists(setting.value))
      devices.files.push_back(setting.value);
  }
  return devices;
}

// A folder is a recorded machine, anything else a listing of an environment.
Result<EnvFacts> facts_of_source(const std::string& from, EnvFacts facts) {
  std::error_code error;
  if (std::filesystem::is_directory(from, error)) {
    const auto host = core::Host::recorded(from);
    if (!host) return host.error();
    facts.sources = nccl::read_setting_sources(*host, facts.version);
    facts.settings = settings_in_force(facts.sources);
    facts.devices = devices_of(*host, facts);
    return facts;
  }
  auto input = core::Input::open(from);
  if (!input) return input.error();
  const auto text = input->read_all(kMostListing);
  if (!text) return text.error();
  facts.sources = nccl::parse_environment_listing(input->name(), *text);
  facts.settings = settings_in_force(facts.sources);
  if (facts.settings.empty()) {
    core::Error nothing = core::input_error("no NCCL setting found, expected NCCL_NAME=VALUE lines",
                                            "`env | grep NCCL` prints them");
    nothing.where.file = input->name();
    return nothing;
  }
  return facts;
}

Result<EnvFacts> facts_of(const EnvOptions& options) {
  const auto version = parse_nccl_version(options.version);
  if (!version) return version.error();
  EnvFacts facts;
  facts.version = *version;
  if (!options.from.empty()) return facts_of_source(options.from, std::move(facts));
  const core::Host host = core::Host::real();
  if (options.process > 0) {
    auto sources = nccl::read_process_sources(host, options.process, *version);
    if (!sources) return sources.error();
    facts.sources = *sources;
  } else {
    facts.sources = nccl::read_setting_sources(host, *version);
  }
  facts.settings = settings_in_force(facts.sources);
  facts.devices = devices_of(host, facts);
  return facts;
}

std::vector<core::Caveat> caveats_of(const EnvOptions& options, const EnvFacts& facts) {
  if (!facts.devices)
    return {
        core::make_caveat("nccl.env-listing-only",
                          "the settings files, devices and interfaces of that machine are missing",
                          "lists of devices are not checked, and files may add settings", false)};
  if (options.process > 0 || !options.from.empty()) return {};
  return {core::make_caveat(
      "nccl.env-of-shell", "the environment of a job is missing",
      "these are the settings of this shell; --pid PID reads those of a running rank", false)};
}

core::Error unknown_setting(const std::string& name) {
  if (name.starts_with("NCCL_TORCH_NCCL_"))
    return core::input_error(
        fmt::format("'{}' is a setting of PyTorch, not of NCCL", name.substr(5)));
  const std::string near = nccl::nearest_setting(name);
  return core::input_error(fmt::format("'{}' is no setting of NCCL that is known here", name),
                           near.empty() ? "" : "did you mean '" + near + "'?");
}

// IB_HCA and nccl_ib_hca mean NCCL_IB_HCA.
std::string full_name(std::string name) {
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return name.starts_with("NCCL_") ? name : "NCCL_" + name;
}

int env(const Shell& shell, const EnvOptions& options) {
  std::vector<const nccl::SettingEntry*> entries;
  for (const std::string& name : options.names) {
    entries.push_back(nccl::find_setting(full_name(name)));
    if (entries.back() == nullptr) return shell.fail(unknown_setting(full_name(name)));
  }
  const auto facts = facts_of(options);
  if (!facts) return shell.fail(facts.error());
  if (!entries.empty()) return shell.finish(explained_settings(*facts, entries));
  core::Document document = settings_document(*facts, diagnose::judge_nccl_env(*facts));
  document.caveats = caveats_of(options, *facts);
  if (!options.from.empty()) document.inputs = {{options.from, "environment"}};
  return shell.finish(document);
}

}  // namespace

void add_nccl_env(CLI::App& nccl, Shell& shell) {
  CLI::App* app = nccl.add_subcommand(
      "env", "the NCCL settings in force, where they come from, what is wrong with them");
  auto options = std::make_shared<EnvOptions>();
  app->add_option("NAME", options->names,
                  "explain these settings instead of judging those in force")
      ->type_name("");
  auto* from = app->add_option("--from", options->from,
                               "NAME=VALUE lines as `env` prints them, or the folder of a recorded "
                               "machine, instead of this machine; - is standard input");
  from->type_name("FILE");
  app->add_option("--pid", options->process_text, "the environment of a running process")
      ->type_name("PID")
      ->check([options](const std::string& text) -> std::string {
        options->process = core::whole_number<int>(text).value_or(0);
        return options->process > 0
                   ? ""
                   : fmt::format("'{}' is no process number, expected one like 4711", text);
      })
      ->excludes(from);
  app->footer(
      "Order: environment, NCCL_CONF_FILE or else ~/.nccl.conf, /etc/nccl.conf; the first one "
      "holds.\n"
      "NCCL reads a number once, at its first use: what a program sets later has no effect.\n"
      "Examples:\n"
      "  comm-probe nccl env --pid $$   # or the process of a rank\n"
      "  comm-probe nccl env --explain NCCL_IB_HCA\n"
      "  ssh node17 env | comm-probe nccl env --from -");
  shell.add_common_flags(*app);
  add_nccl_version(*app, options->version);
  app->callback(
      [&shell, options] { shell.run([&shell, options] { return env(shell, *options); }); });
}

}  // namespace comm_probe::cli

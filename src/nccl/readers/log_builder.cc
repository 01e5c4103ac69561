#include "nccl/readers/log_builder.h"

#include <algorithm>

#include "nccl/readers/debug_log_reader.h"

namespace comm_probe::nccl {
namespace {

constexpr std::size_t kMostText = 300;  // of a line that is kept as evidence
constexpr std::size_t kMostThreads = 1 << 21;
constexpr std::size_t kMostSettings = 512;
constexpr std::size_t kMostGids = 64;

bool is_blank_line(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

// "18." -> "18": NCCL ends lines of numbers with a full stop.
std::string_view without_stop(std::string_view value) {
  if (value.size() < 2 || value.back() != '.') return value;
  const char before = value[value.size() - 2];
  return before >= '0' && before <= '9' ? value.substr(0, value.size() - 1) : value;
}

}  // namespace

void LogBuilder::begin_file(const std::string& name) {
  log_.files.push_back(name);
  log_.nccl_lines_of_file.push_back(0);
}

LogPlace LogBuilder::here() const {
  return {static_cast<int>(log_.files.size()) - 1, raw_->number,
          std::string(raw_->text.substr(0, kMostText))};
}

int LogBuilder::host_index(std::string_view host) {
  const auto [found, is_new] =
      host_index_.emplace(std::string(host), static_cast<int>(log_.hosts.size()));
  if (is_new) log_.hosts.emplace_back(host);
  knows_host_ = knows_host_ || !host.empty();
  return found->second;
}

LogBuilder::Thread& LogBuilder::thread_of_line() {
  key_.assign(line_.thread);
  if (const auto found = thread_index_.find(key_); found != thread_index_.end())
    return threads_[index(found->second)];
  if (threads_.size() >= kMostThreads) {
    log_.was_full = true;
    return threads_.back();
  }
  // of "host:pid:tid" the process is "host:pid"; both begin alike
  std::string process_key(line_.host);
  process_key += ':' + std::to_string(line_.pid);
  const auto [process, is_new] =
      process_index_.emplace(std::move(process_key), static_cast<int>(log_.processes.size()));
  if (is_new) {
    log_.processes.emplace_back();
    log_.processes.back().host = host_index(line_.host);
    log_.processes.back().file = here().file;
    log_.processes.back().pid = line_.pid;
    log_.processes.back().launcher_rank = launcher_rank(line_.prefix);
  }
  thread_index_.emplace(key_, static_cast<int>(threads_.size()));
  threads_.emplace_back();
  threads_.back().process = process->second;
  return threads_.back();
}

int LogBuilder::note(std::vector<LogFact>& facts, std::string_view text, std::size_t most) {
  text = text.substr(0, kMostText);
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (facts[i].text == text) {
      ++facts[i].count;
      return static_cast<int>(i);
    }
  if (facts.size() >= most || text.empty()) return -1;
  facts.push_back({std::string(text), 1, here()});
  return static_cast<int>(facts.size()) - 1;
}

void LogBuilder::note_setting(std::string_view name, std::string_view value, bool by_plugin) {
  value = without_stop(value);
  for (LogSetting& setting : log_.settings)
    if (setting.name == name && setting.value == value) {
      ++setting.count;
      return;
    }
  if (log_.settings.size() < kMostSettings)
    log_.settings.push_back(
        {std::string(name), std::string(value.substr(0, kMostText)), by_plugin, 1, here()});
}

bool LogBuilder::add(const core::Line& line) {
  if (log_.files.empty()) begin_file("standard input");
  ++log_.lines;
  raw_ = &line;
  line_ = split_log_line(line.text);
  if (line_.level == LogLevel::kNone) {
    read_plain_line();
    return false;
  }
  ++log_.nccl_lines;
  ++log_.nccl_lines_of_file.back();
  if (!line_.is_torn) {
    read_line();
    return true;
  }
  // what was torn off its thread says nothing of a thread, where others have one
  if (line_.thread.empty() && knows_host_) {
    ++log_.torn_lines;
    return true;
  }
  trim_glued_host();
  const LogLine last = line_;
  line_ = split_log_line(last.prefix);
  // two whole messages: both are read
  const bool is_whole = line_.level == LogLevel::kVersion || !line_.thread.empty();
  if (line_.level != LogLevel::kNone && is_whole && !line_.is_torn)
    read_line();
  else
    ++log_.torn_lines;
  line_ = last;
  read_line();
  return true;
}

// "... over eth0node1:25:66 [0] NCCL INFO ...": the host is the end that is known.
void LogBuilder::trim_glued_host() {
  if (host_index_.count(std::string(line_.host)) > 0) return;
  std::string_view known;
  for (const std::string& host : log_.hosts)
    if (host.size() > known.size() && line_.host.ends_with(host)) known = host;
  if (known.empty()) return;
  const std::size_t glued = line_.host.size() - known.size();
  line_.prefix = {line_.prefix.data(), line_.prefix.size() + glued};
  line_.host.remove_prefix(glued);
  line_.thread.remove_prefix(glued);
}

// What line_ holds.
void LogBuilder::read_line() {
  if (line_.level == LogLevel::kVersion) {  // has no thread
    read_version(LogScan(line_.message));
    return;
  }
  thread_ = &thread_of_line();
  read_message();
}

void LogBuilder::read_message() {
  if (line_.level == LogLevel::kWarn) return read_warning();
  if (line_.level != LogLevel::kInfo || line_.message.empty()) return;
  std::size_t count = 0;
  const Entry* entry = entries_of(static_cast<unsigned char>(line_.message.front()), count);
  for (; count > 0; --count, ++entry) {
    if (!line_.message.starts_with(entry->begin)) continue;
    if ((this->*entry->read)(LogScan(line_.message.substr(entry->begin.size())))) return;
  }
  read_notice();
}

// Lines of other programs in the same text.
void LogBuilder::read_plain_line() {
  std::string_view text = raw_->text;
  if (text.size() < 8 || is_blank_line(text)) return;
  if (text.front() == '#') {
    // "#  Rank  0 Group  0 Pid 1469 on node00 device  0 [0x07] NVIDIA A100-SXM4-80GB"
    LogScan scan(text);
    if (!scan.behind("Rank") || !scan.behind(" on ") || !scan.behind(" device ")) return;
    ++log_.listed_ranks;
    if (scan.behind("] ")) note(log_.gpu_names, scan.rest());
    return;
  }
  if (text.find("NCCL failure") != std::string_view::npos) return read_failed_test(text);
  if (text.find("NVIDIA GB10") != std::string_view::npos) note(log_.gpu_names, "NVIDIA GB10");
  const std::size_t at = text.find("GID[");
  if (at == std::string_view::npos || log_.gids.size() >= kMostGids) return;
  LogScan scan(text.substr(at + 4));
  scan.skip_blanks();
  const auto number = scan.small();
  if (!number || !scan.skip("]:")) return;
  scan.skip_blanks();
  LogGid gid = {*number, std::string(scan.until(',')), "", here()};
  scan.skip_blanks();
  gid.type = std::string(scan.rest());
  log_.gids.push_back(std::move(gid));
}

namespace {

// The trees of one search are printed ("Tree 1 : ...") before NCCL_MAX_NCHANNELS cuts the channels:
// what is above the number that the communicator has was never built.
void drop_cut_channels(LogComm& comm) {
  const auto kept = comm.channels ? std::optional(comm.channels->coll) : comm.ring_count;
  if (!kept || *kept < 1) return;
  std::erase_if(comm.trees, [&](const auto& tree) { return tree.first.first >= *kept; });
}

// A banner of a table elsewhere in the pile is of another run: what the ranks of the log print
// counts first.
void put_version_of_ranks_first(DebugLog& log) {
  const auto is_of_ranks = [&](const LogFact& version) {
    return std::any_of(log.ranks.begin(), log.ranks.end(),
                       [&](const LogRank& rank) { return rank.first.file == version.first.file; });
  };
  const auto found = std::find_if(log.versions.begin(), log.versions.end(), is_of_ranks);
  if (found == log.versions.end() || found == log.versions.begin()) return;
  const auto place = static_cast<int>(found - log.versions.begin());
  std::swap(*found, log.versions.front());
  for (LogProcess& process : log.processes) {
    if (process.version == 0)
      process.version = place;
    else if (process.version == place)
      process.version = 0;
  }
}

}  // namespace

DebugLog LogBuilder::finish() {
  drop_drafts();
  for (LogComm& comm : log_.comms) drop_cut_channels(comm);
  put_version_of_ranks_first(log_);
  return std::move(log_);
}

DebugLogReader::DebugLogReader() : builder_(std::make_unique<LogBuilder>()) {}
DebugLogReader::DebugLogReader(DebugLogReader&&) noexcept = default;
DebugLogReader::~DebugLogReader() = default;
void DebugLogReader::begin_file(const std::string& name) { builder_->begin_file(name); }
bool DebugLogReader::add(const core::Line& line) { return builder_->add(line); }
DebugLog DebugLogReader::finish() { return builder_->finish(); }

core::Result<DebugLog> read_debug_log(core::Input& input) {
  DebugLogReader reader;
  reader.begin_file(input.name());
  core::LineReader lines(input);
  for (core::Line line; lines.next(line);) reader.add(line);
  if (lines.error()) return *lines.error();
  return reader.finish();
}

}  // namespace comm_probe::nccl

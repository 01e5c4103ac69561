#include "curve/readers/perftest_lines.h"

#include <algorithm>
#include <array>

#include "core/units.h"
#include "curve/row_reader.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kLongestWord = 120;  // of a value that is kept

std::string kept(std::string_view text) { return std::string(trim(text).substr(0, kLongestWord)); }

struct Verb {
  std::string_view title;
  std::string_view program;
};
constexpr std::array kVerbs = {Verb{"RDMA_Write", "write"},  Verb{"RDMA_Read", "read"},
                               Verb{"WriteImm", "write"},    Verb{"RDMA_WriteImm", "write"},
                               Verb{"Send", "send"},         Verb{"Atomic", "atomic"},
                               Verb{"RDMA Atomic", "atomic"}};

// The program's stem, "write" of "RDMA_Write BW Test"; empty for no verb of perftest.
std::string_view verb_of(std::string_view title) {
  for (const Verb& verb : kVerbs)
    if (title.starts_with(verb.title) && title.substr(verb.title.size()).starts_with(' '))
      return verb.program;
  return {};
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_program(std::string_view word) {
  static constexpr std::array<std::string_view, 10> kPrograms = {
      "ib_write_bw", "ib_write_lat", "ib_read_bw",    "ib_read_lat",     "ib_send_bw",
      "ib_send_lat", "ib_atomic_bw", "ib_atomic_lat", "raw_ethernet_bw", "raw_ethernet_lat"};
  return std::find(kPrograms.begin(), kPrograms.end(), word) != kPrograms.end();
}

// The value of an option in one of its spellings: "-d mlx5_0", "--ib-dev=mlx5_0", "-d=mlx5_0".
std::optional<std::string_view> option_value(const Tokens& tokens, std::size_t at,
                                             std::string_view shorter, std::string_view longer) {
  const std::string_view word = tokens.at[at];
  for (const std::string_view name : {shorter, longer}) {
    if (name.empty() || !word.starts_with(name)) continue;
    const std::string_view rest = word.substr(name.size());
    if (rest.starts_with('=')) return rest.substr(1);
    if (rest.empty() && at + 1 < tokens.size) return tokens.at[at + 1];
  }
  return std::nullopt;
}

void take_option(const Tokens& tokens, std::size_t at, LinkTest& test) {
  const std::string_view word = tokens.at[at];
  if (const auto value = option_value(tokens, at, "-d", "--ib-dev")) test.device = kept(*value);
  if (const auto value = option_value(tokens, at, "-i", "--ib-port"))
    test.port = parse_small(*value);
  if (const auto value = option_value(tokens, at, "-D", "--duration"))
    test.duration_s = parse_small(*value);
  if (const auto value = option_value(tokens, at, "-q", "--qp")) test.qps = parse_small(*value);
  if (const auto value = option_value(tokens, at, "-x", "--gid-index"))
    test.gid_index = parse_small(*value);
  if (word == "-b" || word == "--bidirectional") test.bidirectional = true;
  if (word == "-R" || word == "--rdma_cm") test.rdma_cm = true;
  if (word == "-e" || word == "--events") test.uses_events = true;
  if (word == "-O" || word == "--dualport") test.dual_port = true;
  if (word.starts_with("--use_cuda") || word.starts_with("--use_rocm")) {
    test.gpu.is_used = true;
    if (contains(word, "dmabuf")) test.gpu.dmabuf = true;
    const auto number = option_value(tokens, at, "--use_cuda", "--use_rocm");
    if (const auto device = number ? parse_small(*number) : std::nullopt) test.gpu.device = device;
  }
}

std::optional<double> bandwidth_unit(std::string_view word) {
  const std::size_t open = word.find('[');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view unit = word.substr(open + 1, word.find(']', open) - open - 1);
  if (unit == "Gb/sec") return 1e9 / 8;
  if (unit == "MiB/sec" || unit == "MB/sec") return 1048576;
  return std::nullopt;
}

LinkColumn column_of(std::string_view word) {
  struct Named {
    std::string_view name;
    LinkColumn column;
  };
  static constexpr std::array kNames = {
      Named{"bytes", LinkColumn::kBytes},   Named{"iterations", LinkColumn::kIterations},
      Named{"peak[", LinkColumn::kPeak},    Named{"average[", LinkColumn::kAverage},
      Named{"MsgRate[", LinkColumn::kRate}, Named{"t_min[", LinkColumn::kMin},
      Named{"t_max[", LinkColumn::kMax},    Named{"t_typical[", LinkColumn::kTypical},
      Named{"t_avg[", LinkColumn::kMean},   Named{"t_stdev[", LinkColumn::kDeviation},
      Named{"BW_peak[", LinkColumn::kPeak}, Named{"BW_average[", LinkColumn::kAverage}};
  while (word.starts_with('#')) word.remove_prefix(1);
  for (const Named& named : kNames)
    if (word.starts_with(named.name)) return named.column;
  return LinkColumn::kOther;
}

// Words that belong to the column before or after them.
bool is_half_a_title(std::string_view word) {
  return word == "BW" || word == "percentile[usec]" || word == "average" || word == "#";
}

void set_time(LinkColumn column, double figure, LinkRow& row) {
  const auto time = core::Duration::from_us(figure);
  switch (column) {
    case LinkColumn::kMin:
      row.t_min = time;
      break;
    case LinkColumn::kMax:
      row.t_max = time;
      break;
    case LinkColumn::kTypical:
      row.t_typical = time;
      break;
    case LinkColumn::kMean:
      row.t_avg = time;
      break;
    case LinkColumn::kDeviation:
      row.t_stdev = time;
      break;
    case LinkColumn::kP99:
      row.t_p99 = time;
      break;
    case LinkColumn::kP999:
      row.t_p999 = time;
      break;
    case LinkColumn::kBytes:
    case LinkColumn::kIterations:
    case LinkColumn::kPeak:
    case LinkColumn::kAverage:
    case LinkColumn::kRate:
    case LinkColumn::kOther:
      break;
  }
}

// Digits behind the point, as perftest prints them (its REPORT_FMT of both kinds).
std::size_t decimals_of(LinkColumn column) {
  if (column == LinkColumn::kBytes || column == LinkColumn::kIterations) return 0;
  return column == LinkColumn::kRate ? 6 : 2;
}

void set_figure(LinkColumn column, double figure, const LinkLayout& layout, LinkRow& row) {
  const auto bandwidth = [&] {
    return core::Bandwidth::from_bytes_per_second(figure * layout.unit);
  };
  if (column == LinkColumn::kIterations) row.iterations = figure;
  if (column == LinkColumn::kPeak) row.peak = bandwidth();
  if (column == LinkColumn::kRate) row.message_rate = figure * 1e6;
  if (column == LinkColumn::kAverage) row.average = bandwidth();
  set_time(column, figure, row);
}

}  // namespace

bool read_perftest_title(std::string_view text, LinkTest& test) {
  const bool is_bandwidth = text.ends_with(" BW Test") || text.ends_with(" BW test");
  const bool is_latency = text.ends_with(" Latency Test") || text.ends_with(" Latency test");
  if (!is_bandwidth && !is_latency) return false;
  const std::string_view verb = verb_of(text);
  if (verb.empty()) return false;
  test.title = kept(text);
  test.program = "ib_" + std::string(verb) + (is_latency ? "_lat" : "_bw");
  test.is_latency = is_latency;
  test.reads = verb == "read";
  test.round_trip = test.reads || verb == "atomic";
  if (contains(text, "Bidirectional")) test.bidirectional = true;
  test.post_list = contains(text, "Post List");
  return true;
}

bool read_perftest_command(std::string_view text, LinkTest& test) {
  if (!contains(text, "ib_") && !contains(text, "raw_ethernet")) return false;
  Tokens tokens;
  split(text, tokens);
  std::size_t program = 0;
  while (program < tokens.size && !is_program(base_name(tokens.at[program]))) ++program;
  if (program == tokens.size) return false;
  // In prose the word is followed by a sentence; a command has options, a host, or nothing.
  const bool has_rest = program + 1 < tokens.size;
  const bool is_prose =
      has_rest && tokens.at[program + 1].front() != '-' && tokens.size > program + 3;
  if (is_prose) return false;
  test.command = kept(text);
  test.program = base_name(tokens.at[program]);
  test.is_latency = test.program.ends_with("_lat");
  test.reads = contains(test.program, "_read_");
  test.round_trip = test.reads || contains(test.program, "_atomic_");
  for (std::size_t i = program + 1; i < tokens.size; ++i) take_option(tokens, i, test);
  return true;
}

bool set_perftest_field(std::string_view name, std::string_view value, LinkTest& test) {
  std::string key(trim(name).substr(0, 40));
  std::replace(key.begin(), key.end(), '_', ' ');
  value = trim(value);
  if (key == "Device") {
    test.device = kept(value);
  } else if (key == "Number of qps") {
    test.qps = parse_small(value);
  } else if (key == "Transport type") {
    test.transport = kept(value);
  } else if (key == "Connection type") {
    test.connection = kept(value);
  } else if (key == "PCIe relax order") {
    test.relaxed_ordering = kept(value);
  } else if (key == "TX depth") {
    test.tx_depth = parse_small(value);
  } else if (key == "Mtu") {
    if (const auto bytes = parse_whole(value.substr(0, value.find('['))))
      test.mtu = core::Bytes::of(*bytes);
  } else if (key == "Link type") {
    test.link_type = kept(value);
  } else if (key == "GID index" || key == "Gid index") {
    test.gid_index = parse_small(value);
  } else if (key == "Dual-port") {
    test.dual_port = value == "ON";
  } else if (key == "rdma cm QPs") {
    test.rdma_cm = value == "ON";
  } else {
    static constexpr std::array<std::string_view, 14> kOthers = {"Using SRQ",
                                                                 "Lock-free",
                                                                 "ibv wr* API",
                                                                 "Using DDP",
                                                                 "Post List",
                                                                 "CQ Moderation",
                                                                 "CQE Poll Batch",
                                                                 "Max inline data",
                                                                 "Using Enhanced Reorder",
                                                                 "RX depth",
                                                                 "Outstand reads",
                                                                 "Data ex. method",
                                                                 "TOS",
                                                                 "Connection"};
    return std::find(kOthers.begin(), kOthers.end(), key) != kOthers.end();
  }
  return true;
}

bool read_perftest_fields(std::string_view text, LinkTest& test) {
  bool known = false;
  for (int pairs = 0; pairs < 3; ++pairs) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) break;
    std::string_view value = trim(text.substr(colon + 1));
    std::size_t end = 0;  // the value ends at a tab or at two blanks
    while (end < value.size() && value[end] != '\t' && !value.substr(end).starts_with("  ")) ++end;
    known = set_perftest_field(text.substr(0, colon), value.substr(0, end), test) || known;
    text = trim(value.substr(end));
  }
  return known;
}

bool begins_perftest(std::string_view text) {
  static constexpr std::array<std::string_view, 13> kOwn = {
      "Dual-port",        "Number of qps", "Transport type", "Connection type", "Using SRQ",
      "PCIe relax order", "ibv_wr* API",   "TX depth",       "CQ Moderation",   "Mtu  ",
      "Max inline data",  "rdma_cm QPs",   "Data ex. method"};
  return std::any_of(kOwn.begin(), kOwn.end(),
                     [text](std::string_view key) { return contains(text, key); });
}

bool read_perftest_address(std::string_view text, LinkTest& test, bool& is_remote) {
  const bool local = text.starts_with("local address:");
  const bool remote = text.starts_with("remote address:");
  Tokens tokens;
  if (local || remote) {
    is_remote = remote;
    split(text, tokens);
    std::string& lid = (remote ? test.remote : test.local).lid;
    for (std::size_t i = 2; i + 1 < tokens.size; ++i)
      if (tokens.at[i] == "LID" && lid.empty()) lid = kept(tokens.at[i + 1]);
    return true;
  }
  if (!text.starts_with("GID: ")) return false;
  std::string& gid = (is_remote ? test.remote : test.local).gid;
  if (gid.empty()) gid = kept(text.substr(5));
  return true;
}

bool read_gpu_line(std::string_view text, LinkTest& test) {
  constexpr std::string_view kPicking = "Picking device No. ";
  constexpr std::string_view kAddress = ": PCIe address is ";
  const std::size_t name = text.find("device name = [");
  if (text.starts_with(kPicking)) {
    test.gpu.device = parse_small(text.substr(kPicking.size()));
  } else if (name != std::string_view::npos) {
    test.gpu.name = kept(text.substr(name + 15, text.find(']', name) - name - 15));
  } else if (text.starts_with("CUDA device ") && contains(text, kAddress)) {
    const std::size_t colon = text.find(kAddress);
    const auto index = parse_small(text.substr(12, colon - 12));
    if (index && test.devices.size() < 256)
      test.devices.push_back({*index, "", kept(text.substr(colon + kAddress.size()))});
  } else {
    static constexpr std::array<std::string_view, 11> kOthers = {
        "initializing CUDA",          "Listing all CUDA devices", "creating CUDA Ctx",
        "making it the current CUDA", "cuMemAlloc() of a",        "allocated GPU buffer",
        "Using DMA-BUF for GPU",      "using DMA-BUF for GPU",    "There are",
        "Using ROCm Device",          "allocated DMA-BUF"};
    const bool known = std::any_of(kOthers.begin(), kOthers.end(), [&](std::string_view beginning) {
      return text.starts_with(beginning);
    });
    const bool counts_devices = text.starts_with("There are") && contains(text, "CUDA");
    if (!known || (text.starts_with("There are") && !counts_devices)) return false;
    if (contains(text, "DMA-BUF")) test.gpu.dmabuf = true;
  }
  test.gpu.is_used = true;
  return true;
}

PerftestLine classify_perftest_line(std::string_view text) {
  static constexpr std::array<std::string_view, 22> kErrors = {
      "Couldn't allocate MR",
      "failed to create mr",
      "Failed to create MR",
      "Couldn't create IB resources",
      "Failed to modify QP",
      "Unable to Connect the HCA",
      "Unable to init the socket connection",
      "Couldn't connect to ",
      "Couldn't get device attributes",
      "Couldn't get context for the device",
      "Unable to find the Infiniband/RoCE device",
      "IB device ",
      "Completion with error at",
      "Failed status ",
      "Port number 1 state is",
      "Couldn't set the link layer",
      "Failed to exchange data between server and clients",
      "Unexpected CM event",
      "Unable to perform rdma_client function",
      "cuda init failed",
      "cuMemAlloc error",
      "Failed to complete run_iter"};
  static constexpr std::array<std::string_view, 4> kWarnings = {
      "Conflicting CPU frequency", "Requested SQ size might be too big",
      "Perftest doesn't supports CUDA", "WARNING: BW peak won't be measured"};
  const auto begins = [text](std::string_view beginning) { return text.starts_with(beginning); };
  if (std::any_of(kErrors.begin(), kErrors.end(), begins)) {
    if (text.starts_with("IB device ") && !contains(text, "not found")) return PerftestLine::kOther;
    return PerftestLine::kError;
  }
  if (std::any_of(kWarnings.begin(), kWarnings.end(), begins)) return PerftestLine::kWarning;
  return contains(text, "Waiting for client to connect") ? PerftestLine::kNoise
                                                         : PerftestLine::kOther;
}

std::optional<LinkLayout> read_perftest_header(std::string_view text) {
  if (!contains(text, "bytes")) return std::nullopt;
  const bool is_bandwidth = contains(text, "average[") && contains(text, "iterations");
  const bool is_latency = contains(text, "[usec]") && contains(text, "iterations");
  if (!is_bandwidth && !is_latency) return std::nullopt;
  LinkLayout layout;
  layout.is_latency = is_latency;
  Tokens tokens;
  split(text, tokens);
  for (std::size_t i = 0; i < tokens.size; ++i) {
    const std::string_view word = tokens.at[i];
    if (is_half_a_title(word)) continue;
    LinkColumn column = column_of(word);
    if (word == "99%") column = LinkColumn::kP99;
    if (word == "99.9%") column = LinkColumn::kP999;
    layout.columns.push_back(column);
    if (column != LinkColumn::kPeak && column != LinkColumn::kAverage) continue;
    const auto unit = bandwidth_unit(word);
    if (!unit) return std::nullopt;
    layout.unit = *unit;
    layout.mib = contains(word, "[MB/sec]");
  }
  if (layout.columns.empty() || layout.columns.front() != LinkColumn::kBytes) return std::nullopt;
  return layout;
}

LinkRowKind read_perftest_row(const LinkLine& line, const LinkLayout& layout, LinkRow& row) {
  Tokens tokens;
  split(line.text, tokens);
  if (tokens.size < 2 || tokens.size > layout.columns.size()) return LinkRowKind::kNotARow;
  const auto bytes = parse_whole(tokens.at[0]);
  if (!bytes) return LinkRowKind::kNotARow;
  row.bytes = core::Bytes::of(*bytes);
  bool refused = false;
  bool has_result = false;
  bool is_cut = false;
  for (std::size_t i = 1; i < tokens.size; ++i) {
    const LinkColumn column = layout.columns[i];
    const auto figure = parse_decimal(tokens.at[i]);
    if (!figure)
      return tokens.at[i].find("nan") == 0 ? LinkRowKind::kRefused : LinkRowKind::kNotARow;
    if (*figure < 0 || *figure > kLargestFigure) {
      refused = true;
      continue;
    }
    is_cut = i + 1 == tokens.size && is_cut_figure(line, tokens.at[i], decimals_of(column));
    if (is_cut) break;
    set_figure(column, *figure, layout, row);
    if (column == LinkColumn::kAverage) row.rounding = rounding_of(tokens.at[i], *figure);
    has_result = has_result || column == LinkColumn::kAverage || column == LinkColumn::kMean ||
                 column == LinkColumn::kTypical;
  }
  if (refused) return LinkRowKind::kRefused;
  if (!has_result) return LinkRowKind::kCut;
  return is_cut ? LinkRowKind::kRowCut : LinkRowKind::kRow;
}

}  // namespace comm_probe::curve

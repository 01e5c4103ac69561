#include "curve/line_facts.h"

#include <algorithm>
#include <array>

#include "core/units.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kLongestTag = 48;

// "[1,0]<stdout>:", "[STAT]:", "[0]"; 0 where the text does not begin with a tag.
std::size_t bracket_tag(std::string_view text) {
  if (text.empty() || text.front() != '[') return 0;
  std::size_t end = text.substr(0, kLongestTag).find(']');
  if (end == std::string_view::npos) return 0;
  ++end;
  for (const std::string_view stream : {"<stdout>", "<stderr>"})
    if (text.substr(end).starts_with(stream)) end += stream.size();
  if (end < text.size() && text[end] == ':') ++end;
  return end;
}

// "0:" and "12:" of srun --label
std::size_t number_tag(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && digits < 7 && is_digit(text[digits])) ++digits;
  return digits > 0 && digits < text.size() && text[digits] == ':' ? digits + 1 : 0;
}

// The word after `key`, without a colon.
std::string_view word_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = trim(text.substr(at + key.size()));
  return rest.substr(0, rest.find_first_of(" \t"));
}

std::optional<int> integer_after(std::string_view text, std::string_view key) {
  return parse_small(word_after(text, key));
}

std::optional<core::Bytes> bytes_after(std::string_view text, std::string_view key) {
  const auto whole = parse_whole(word_after(text, key));
  if (!whole) return std::nullopt;
  return core::Bytes::of(*whole);
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "all_reduce_perf", "./build/all_reduce_perf_mpi"; empty where the word names no benchmark.
std::string_view benchmark_name(std::string_view word) {
  word = base_name(word);
  while (!word.empty() && !is_letter(word.back()) && !is_digit(word.back())) word.remove_suffix(1);
  while (!word.empty() && !is_letter(word.front())) word.remove_prefix(1);
  std::string_view stem = word;
  if (stem.ends_with("_mpi")) stem.remove_suffix(4);
  if (!stem.ends_with("_perf") || stem.size() < 9) return {};
  const bool plain = std::all_of(stem.begin(), stem.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || is_digit(c);
  });
  return plain ? word : std::string_view{};
}

// The value of an option that is written "-np 4", "--ntasks=8" or "-n4".
std::optional<int> option_value(const Tokens& tokens, std::size_t i, std::string_view option) {
  const std::string_view word = tokens.at[i];
  if (word == option) return i + 1 < tokens.size ? parse_small(tokens.at[i + 1]) : std::nullopt;
  if (word.starts_with(option) && word.size() > option.size() && word[option.size()] == '=')
    return parse_small(word.substr(option.size() + 1));
  return std::nullopt;
}

struct Launch {
  std::optional<int> processes, processes_per_node, nodes;
};

Launch read_launcher(const Tokens& tokens, std::size_t program) {
  Launch launch;
  for (std::size_t i = 0; i < program; ++i) {
    for (const std::string_view option : {"-np", "--np", "-n", "--ntasks"})
      if (const auto value = option_value(tokens, i, option)) launch.processes = value;
    for (const std::string_view option : {"--ntasks-per-node", "-npernode", "--npernode", "-ppn"})
      if (const auto value = option_value(tokens, i, option)) launch.processes_per_node = value;
    for (const std::string_view option : {"-N", "--nodes"})
      if (const auto value = option_value(tokens, i, option)) launch.nodes = value;
  }
  return launch;
}

bool contains_any(std::string_view line, const auto& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [line](std::string_view pattern) {
    return line.find(pattern) != std::string_view::npos;
  });
}

}  // namespace

Body strip_prefix(std::string_view line) {
  Body body = {trim(line)};
  for (int tags = 0; tags < 4; ++tags) {
    std::size_t length = bracket_tag(body.text);
    if (length == 0) length = number_tag(body.text);
    if (length == 0 && (body.text.starts_with("> ") || body.text.starts_with("| "))) length = 2;
    if (length == 0) break;
    body.text = trim(body.text.substr(length));
  }
  while (body.text.starts_with('#')) {
    body.comment = true;
    body.text.remove_prefix(1);
  }
  body.text = trim(body.text);
  return body;
}

std::string_view plain_text(std::string_view line, std::string& buffer) {
  const auto is_odd = [](char c) { return static_cast<unsigned char>(c) >= 0x80 || c == '\x1b'; };
  if (std::none_of(line.begin(), line.end(), is_odd)) return line;
  buffer.clear();
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = line.substr(i);
    if (rest.starts_with("\xef\xbb\xbf")) {
      i += 2;
    } else if (rest.starts_with("\xc2\xa0")) {
      buffer += ' ';
      ++i;
    } else if (rest.starts_with("\xe2\x80\xa6")) {  // the one-character ellipsis
      buffer += "...";
      i += 2;
    } else if (rest.starts_with("\x1b[")) {  // up to the letter that ends the escape
      for (i += 2; i < line.size() && !is_letter(line[i]);) ++i;
    } else {
      buffer += line[i];
    }
  }
  return buffer;
}

std::optional<RunSettings> read_settings(std::string_view body) {
  const std::size_t start = body.find("nThread ");
  if (start == std::string_view::npos || body.find(" nGpus ") == std::string_view::npos)
    return std::nullopt;
  body = body.substr(start);
  RunSettings settings;
  settings.threads = integer_after(body, "nThread ");
  settings.gpus_per_thread = integer_after(body, "nGpus ");
  settings.min_bytes = bytes_after(body, "minBytes ");
  settings.max_bytes = bytes_after(body, "maxBytes ");
  settings.warmup = integer_after(body, "warmup iters: ");
  const std::size_t warmup = body.find("warmup iters: ");
  settings.iterations =
      integer_after(warmup == std::string_view::npos ? body : body.substr(warmup + 14), " iters: ");
  if (const auto validation = integer_after(body, "validation: "))
    settings.validation = *validation != 0;
  settings.graph = integer_after(body, "graph: ");
  return settings;
}

std::optional<Device> read_device(std::string_view body) {
  if (!body.starts_with("Rank ")) {
    const std::size_t start = body.find(" Rank ");
    if (start == std::string_view::npos || body.find(" Pid ") == std::string_view::npos)
      return std::nullopt;
    body = body.substr(start + 1);
  }
  Tokens tokens;
  split(body, tokens);
  Device found;
  std::size_t known = 0;  // rank, host and device
  std::size_t i = 0;
  for (; i + 1 < tokens.size && known < 3; i += 2) {
    const std::string_view key = tokens.at[i], value = tokens.at[i + 1];
    const auto number = parse_small(value);
    if (key == "Rank" && number.value_or(-1) >= 0) found.rank = *number, ++known;
    if (key == "Group") found.group = number;
    if (key == "on") found.host = value, ++known;
    if (key == "device" && number) found.device = *number, ++known;
  }
  if (known < 3) return std::nullopt;
  if (i == tokens.size || tokens.at[i].front() != '[') return found;
  const char* const name = tokens.at[i].data();
  const std::string_view rest = body.substr(static_cast<std::size_t>(name - body.data()));
  const std::size_t close = rest.find(']');
  if (close == std::string_view::npos) return found;
  found.bus_id = rest.substr(1, close - 1);
  found.name = trim(rest.substr(close + 1));
  return found;
}

std::optional<std::string> read_nccl_version(std::string_view line) {
  const std::size_t at = line.find("CCL version ");
  if (at == std::string_view::npos || line.find("NCCL INFO", at) != std::string_view::npos)
    return std::nullopt;
  std::string_view rest = trim(line.substr(at + 12));
  if (rest.starts_with(':')) rest = trim(rest.substr(1));
  const std::string_view version = rest.substr(0, rest.find_first_not_of("0123456789."));
  if (version.empty() || !is_digit(version.front())) return std::nullopt;
  return std::string(version);
}

std::optional<std::string> read_tests_version(std::string_view body) {
  for (const std::string_view key : {"nccl-tests version ", "rccl-tests: Version "})
    if (body.find(key) != std::string_view::npos) return std::string(word_after(body, key));
  return std::nullopt;
}

std::optional<Command> read_command(std::string_view line) {
  if (line.find("_perf") == std::string_view::npos) return std::nullopt;
  Tokens tokens;
  split(line, tokens);
  std::size_t program = 0;
  while (program < tokens.size && benchmark_name(tokens.at[program]).empty()) ++program;
  if (program == tokens.size) return std::nullopt;
  Command command = {std::string(benchmark_name(tokens.at[program])), {}, {}};
  const Launch launch = read_launcher(tokens, program);
  int per_process = 1;
  for (std::size_t i = program + 1; i < tokens.size; ++i)
    for (const std::string_view option : {"-t", "-g", "--nthreads", "--ngpus"})
      if (const auto value = option_value(tokens, i, option); value && *value > 0 && *value < 1024)
        per_process *= *value;
  command.nodes = launch.nodes;
  std::optional<int> processes = launch.processes;
  if (!processes && launch.nodes && launch.processes_per_node && *launch.nodes < 100000)
    processes = *launch.nodes * std::min(*launch.processes_per_node, 1024);
  if (processes && *processes > 0 && *processes < 1000000)
    command.ranks = *processes * std::min(per_process, 1024);
  return command;
}

bool is_test_failure(std::string_view line) {
  static constexpr std::array<std::string_view, 4> kPatterns = {
      "Test NCCL failure", "Test CUDA failure", "Test failure", "Test HIP failure"};
  return contains_any(line, kPatterns);
}

bool is_failure(std::string_view line) {
  static constexpr std::array<std::string_view, 18> kPatterns = {
      "unhandled ",
      "exited with non-zero status",
      "terminated by signal",
      "exited on signal",
      "Segmentation fault",
      "out of memory",
      "MPI_ABORT",
      "MPI_Abort",
      "CUDA error",
      "HIP error",
      "srun: error",
      "slurmstepd: error",
      "DUE TO TIME LIMIT",
      "error while loading shared libraries",
      "Invalid number of GPUs",
      "command not found",
      "Bus error",
      "OOMKilled"};
  return is_test_failure(line) || contains_any(line, kPatterns);
}

bool is_elision(std::string_view body) {
  static constexpr std::array<std::string_view, 9> kMarks = {
      "...", "....", "[...]", "(...)", "<snip>", "[snip]", "<...>", ". . .", ".."};
  return std::find(kMarks.begin(), kMarks.end(), body) != kMarks.end();
}

std::optional<int> read_nranks(std::string_view line) {
  const auto ranks = integer_after(line, " nranks ");
  return ranks && *ranks > 0 ? ranks : std::nullopt;
}

}  // namespace comm_probe::curve

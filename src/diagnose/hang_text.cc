#include "diagnose/hang_text.h"

#include <fmt/format.h>

#include "core/number_ranges.h"

namespace comm_probe::diagnose {

using torch::Digest;
using torch::Frame;
using torch::Work;

namespace {

constexpr std::size_t kMostMembers = 4;

std::string plain_name(const torch::Operation& operation) {
  if (operation.kind == torch::Operation::Kind::kSend)
    return fmt::format("send {}->{}", operation.from, operation.to);
  if (operation.kind == torch::Operation::Kind::kReceive)
    return fmt::format("recv {}<-{}", operation.to, operation.from);
  return operation.name;
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string frame_text(const Frame& frame) {
  return fmt::format("{}:{} {}", file_name(frame.file), frame.line, frame.name);
}

}  // namespace

std::string op_text(const Digest& digest, const Work& work) {
  const auto& operations = digest.dump.operations;
  if (work.members == 0) return plain_name(operations[work.operation]);
  const torch::Call& first = digest.members[work.first_member];
  if (work.members == 1) return plain_name(operations[first.operation]);
  return fmt::format("coalesced{{{} x{}}}", plain_name(operations[first.operation]), work.members);
}

std::string call_text(const Digest& digest, const Work& work) {
  const auto& arguments = digest.dump.arguments;
  if (work.members <= 1)
    return fmt::format("{} {}", op_text(digest, work), arguments[work.arguments].sizes);
  std::string text = fmt::format("coalesced of {}:", work.members);
  for (std::size_t i = 0; i < work.members && i < kMostMembers; ++i) {
    const torch::Call& member = digest.members[work.first_member + i];
    text += fmt::format("{} {} {}", i == 0 ? "" : ",",
                        plain_name(digest.dump.operations[member.operation]),
                        arguments[member.arguments].sizes);
  }
  if (work.members > kMostMembers) text += ", ...";
  return text;
}

std::string site_text(const Digest& digest, const Work& work) {
  if (work.stack == torch::kNoIndex) return "";
  for (const std::uint32_t frame : digest.dump.stacks[work.stack].frames)
    if (!digest.dump.frames[frame].is_torch) return frame_text(digest.dump.frames[frame]);
  return "";
}

std::vector<std::string> stack_lines(const Digest& digest, const Work& work, std::size_t most) {
  std::vector<std::string> lines;
  if (work.stack == torch::kNoIndex) return lines;
  for (const std::uint32_t number : digest.dump.stacks[work.stack].frames) {
    const Frame& frame = digest.dump.frames[number];
    if (frame.is_torch || lines.size() >= most) continue;
    lines.push_back(fmt::format("{}:{} {}", frame.file, frame.line, frame.name));
  }
  return lines;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + core::short_number_ranges(ranks);
}

std::string ranks_have(const std::vector<int>& ranks) {
  return ranks_text(ranks) + (ranks.size() == 1 ? " has" : " have");
}

std::string verb(const std::vector<int>& ranks, const std::string& plural) {
  return ranks.size() == 1 ? plural + "s" : plural;
}

std::string count_text(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string group_text(const torch::Group& group) {
  std::string text = "group " + (group.name.empty() ? std::string("''") : group.name) + " (";
  if (!group.desc.empty() && group.desc != "undefined") text += group.desc + ", ";
  return text + ranks_text(group.ranks) + ")";
}

}  // namespace comm_probe::diagnose

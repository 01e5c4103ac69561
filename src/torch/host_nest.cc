#include "torch/host_nest.h"

#include <fmt/format.h>

#include <algorithm>

namespace comm_probe::torch {
namespace {

// Frames of these are not the user's: PyTorch, what is installed, the standard library.
constexpr std::string_view kForeignParts[] = {"site-packages/", "dist-packages/", "lib/python"};
constexpr std::string_view kForeignBeginnings[] = {
    "torch/",   "<",     "contextlib.py", "typing.py", "threading.py",
    "logging/", "json/", "enum.py",       "importlib/"};

}  // namespace

bool is_user_frame(std::string_view frame) {
  return std::none_of(std::begin(kForeignParts), std::end(kForeignParts),
                      [frame](std::string_view part) { return frame.find(part) != frame.npos; }) &&
         std::none_of(std::begin(kForeignBeginnings), std::end(kForeignBeginnings),
                      [frame](std::string_view part) { return frame.starts_with(part); });
}

std::string frame_text(std::string_view frame) {
  const std::size_t open = frame.find('(');
  const std::size_t close = frame.find("): ", open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::string(frame);
  return fmt::format("{}:{} ({})", frame.substr(0, open), frame.substr(open + 1, close - open - 1),
                     frame.substr(close + 3));
}

template <class Range>
HostNest::Ranges HostNest::nest(const std::vector<Range>& ranges, std::size_t threads) {
  Ranges nested;
  nested.of_thread.resize(threads);
  nested.parents.assign(ranges.size(), kNone);
  std::vector<std::uint32_t> open(threads, kNone);
  for (std::uint32_t i = 0; i < ranges.size(); ++i) {
    const std::uint16_t thread = ranges[i].thread;
    std::uint32_t around = open[thread];
    while (around != kNone && ranges[around].end <= ranges[i].start)
      around = nested.parents[around];
    nested.parents[i] = around;
    open[thread] = i;
    nested.of_thread[thread].push_back(i);
  }
  return nested;
}

template <class Range>
std::uint32_t HostNest::find(const std::vector<Range>& ranges, const Ranges& nested,
                             std::uint16_t thread, std::int64_t time) {
  const auto& of_thread = nested.of_thread[thread];
  const auto behind = std::upper_bound(
      of_thread.begin(), of_thread.end(), time,
      [&ranges](std::int64_t wanted, std::uint32_t one) { return wanted < ranges[one].start; });
  if (behind == of_thread.begin()) return kNone;
  std::uint32_t found = *std::prev(behind);
  while (found != kNone && ranges[found].end <= time) found = nested.parents[found];
  return found;
}

HostNest::HostNest(const Trace& trace)
    : trace_(trace),
      ops_(nest(trace.host_ops, trace.threads.size())),
      frames_(nest(trace.frames, trace.threads.size())) {}

std::uint32_t HostNest::innermost(std::uint16_t thread, std::int64_t time) const {
  return find(trace_.host_ops, ops_, thread, time);
}

std::uint32_t HostNest::innermost(std::uint16_t thread, std::int64_t time, HostKind kind) const {
  std::uint32_t op = innermost(thread, time);
  while (op != kNone && trace_.host_ops[op].kind != kind) op = ops_.parents[op];
  return op;
}

std::uint32_t HostNest::frame_at(std::uint16_t thread, std::int64_t time) const {
  const std::uint32_t innermost = find(trace_.frames, frames_, thread, time);
  for (std::uint32_t frame = innermost; frame != kNone; frame = frames_.parents[frame])
    if (is_user_frame(trace_.names.text(trace_.frames[frame].name))) return frame;
  return innermost;
}

std::string HostNest::place(std::uint16_t thread, std::int64_t time) const {
  const auto text = [this](std::uint32_t frame) {
    return frame_text(trace_.names.text(trace_.frames[frame].name));
  };
  if (const std::uint32_t frame = frame_at(thread, time); frame != kNone) return text(frame);
  for (std::uint16_t other = 0; other < trace_.threads.size(); ++other)
    if (const std::uint32_t frame = frame_at(other, time); frame != kNone)
      return "under " + text(frame);
  return {};
}

}  // namespace comm_probe::torch

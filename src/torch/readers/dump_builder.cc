#include "torch/readers/dump_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "torch/readers/dump_words.h"
#include "torch/readers/hash.h"

namespace comm_probe::torch {

using Kind = Value::Kind;

namespace {

// A call has some tensors of some dimensions; more than this is an attack on our memory.
constexpr std::size_t kMostTensors = 65536;
constexpr std::size_t kMostDimensions = 64;
constexpr std::size_t kMostFrames = 4096;
constexpr std::size_t kMostShown = 8;  // tensors and frames that are kept as text
constexpr std::uint16_t kNoOperation = 0xffff;

std::uint32_t to_u32(std::int64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, 0xfffffffe));
}

bool is_torch_file(std::string_view file) {
  return file.find("/torch/") != std::string_view::npos || file.starts_with("torch/");
}

}  // namespace

struct DumpBuilder::Entry {
  Call call = {};
  std::uint32_t name = kNoIndex;
  std::int64_t pg_id = -1;
  Value group = {};
  Value in = {}, out = {}, in_types = {}, out_types = {}, frames = {};
  bool has_state = false;
  bool has_p2p = false;
};

DumpBuilder::DumpBuilder(RankLists& rank_lists) : strings_(kWords), rank_lists_(rank_lists) {}

std::string_view DumpBuilder::text_of(const Value& value) const {
  return value.kind == Kind::kString ? strings_.text(value.index) : std::string_view();
}

bool DumpBuilder::take(std::span<const Value> pairs, Value& replacement) {
  bool is_frame = false;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i].kind != Kind::kString) continue;
    if (pairs[i].index == kProfilingName) return take_entry(pairs, replacement);
    is_frame |= pairs[i].index == kFilename;
  }
  return is_frame && take_frame(pairs, replacement);
}

bool DumpBuilder::take_frame(std::span<const Value> pairs, Value& replacement) {
  Frame frame;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i].kind != Kind::kString) continue;
    if (pairs[i].index == kName) frame.name = text_of(pairs[i + 1]);
    if (pairs[i].index == kFilename) frame.file = text_of(pairs[i + 1]);
    if (pairs[i].index == kLine && pairs[i + 1].kind == Kind::kInt)
      frame.line = pairs[i + 1].number;
  }
  frame.is_torch = is_torch_file(frame.file);
  replacement = {Kind::kFrame, static_cast<std::uint32_t>(dump_.frames.size()), 0};
  dump_.frames.push_back(std::move(frame));
  return true;
}

void DumpBuilder::set_field(Entry& entry, std::uint32_t key, const Value& value) {
  Call& call = entry.call;
  const std::int64_t number =
      value.kind == Kind::kInt || value.kind == Kind::kBool ? value.number : 0;
  switch (key) {
    case kProfilingName:
      if (value.kind == Kind::kString) entry.name = value.index;
      return;
    case kRecordId:
      call.record = to_u32(number);
      return;
    case kPgId:
      entry.pg_id = number;
      return;
    case kProcessGroup:
      entry.group = value;
      return;
    case kSeqId:
    case kCollectiveSeqId:
      call.collective_seq = to_u32(number);
      return;
    case kP2pSeqId:
      call.p2p_seq = to_u32(number);
      return;
    case kTimeCreatedNs:
      call.created_ns = number;
      return;
    case kTimeCompletedNs:
      call.completed_ns = number;
      return;
    case kInputSizes:
      entry.in = value;
      return;
    case kOutputSizes:
      entry.out = value;
      return;
    case kInputDtypes:
      entry.in_types = value;
      return;
    case kOutputDtypes:
      entry.out_types = value;
      return;
    case kFrames:
      entry.frames = value;
      return;
    case kRetired:
      call.retired = number != 0;
      return;
    case kTimeoutMs:
      call.timeout_ms = to_u32(number);
      return;
    case kIsP2p:
      call.is_p2p = number != 0;
      entry.has_p2p = true;
      return;
    case kStateWord:
      if (value.kind != Kind::kString) return;
      entry.has_state = true;
      if (value.index == kCompleted) call.state = CallState::kCompleted;
      if (value.index == kStarted) call.state = CallState::kStarted;
      return;
    default:  // a key of a newer version
      return;
  }
}

bool DumpBuilder::take_entry(std::span<const Value> pairs, Value& replacement) {
  Entry entry;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i].kind == Kind::kString && pairs[i].index < kWordCount)
      set_field(entry, pairs[i].index, stack_->resolved(pairs[i + 1]));
  replacement = {Kind::kEntry, static_cast<std::uint32_t>(dump_.calls.size()), 0};
  if (entry.name == kNoIndex || dump_.groups.size() >= kMostNumbered ||
      dump_.operations.size() >= kMostNumbered) {
    ++dump_.skipped_entries;
    return true;
  }
  Call& call = entry.call;
  call.operation = operation_of(entry.name);
  call.group = group_of(entry);
  call.arguments = arguments_of(entry);
  call.has_sizes = dump_.arguments[call.arguments].tensors > 0;
  call.stack = stack_of(entry.frames);
  const Operation::Kind kind = dump_.operations[call.operation].kind;
  if (!entry.has_p2p)
    call.is_p2p = kind == Operation::Kind::kSend || kind == Operation::Kind::kReceive;
  dump_.calls.push_back(call);
  return true;
}

// Key: name, description and the number that this rank gave the group.
std::uint16_t DumpBuilder::group_of(const Entry& entry) {
  std::uint32_t parts[2] = {kNoIndex, kNoIndex};
  std::size_t count = 0;
  if (entry.group.kind == Kind::kString) parts[count++] = entry.group.index;
  stack_->each(entry.group, 2, [&](const Value& part) {
    if (part.kind == Kind::kString && count < 2) parts[count++] = part.index;
  });
  const std::uint64_t key =
      combine(combine(parts[0], parts[1]), static_cast<std::uint64_t>(entry.pg_id));
  const std::uint32_t known = groups_by_key_.find(key);
  if (known != NumberByHash::kNone) return static_cast<std::uint16_t>(known);
  const auto number = static_cast<std::uint16_t>(dump_.groups.size());
  groups_by_key_.add(key, number);
  DumpGroup group;
  group.name = parts[0] == kNoIndex ? std::to_string(entry.pg_id) : strings_.text(parts[0]);
  if (parts[1] != kNoIndex) group.desc = strings_.text(parts[1]);
  if (entry.pg_id >= 0)
    group.local_id = static_cast<int>(std::min<std::int64_t>(entry.pg_id, 1 << 30));
  dump_.groups.push_back(std::move(group));
  return number;
}

std::uint16_t DumpBuilder::operation_of(std::uint32_t name) {
  if (name >= operation_of_string_.size())
    operation_of_string_.resize(std::size_t{name} + 64, kNoOperation);
  std::uint16_t& number = operation_of_string_[name];
  if (number != kNoOperation) return number;
  number = static_cast<std::uint16_t>(dump_.operations.size());
  dump_.operations.push_back(parse_operation(strings_.text(name)));
  return number;
}

std::uint64_t DumpBuilder::size_hash(const Value& sizes, std::int64_t& elements,
                                     std::uint32_t& tensors) {
  std::uint64_t hash = 0;
  stack_->each(sizes, kMostTensors, [&](const Value& tensor) {
    std::int64_t product = 1;
    stack_->each(tensor, kMostDimensions, [&](const Value& dimension) {
      if (dimension.kind != Kind::kInt ||
          __builtin_mul_overflow(product, dimension.number, &product))
        product = 0;
    });
    hash = combine(hash, static_cast<std::uint64_t>(product));
    if (__builtin_add_overflow(elements, product, &elements)) elements = 0;
    ++tensors;
  });
  return hash;
}

std::uint64_t DumpBuilder::type_hash(const Value& types, std::string& text) {
  std::uint64_t hash = 0;
  std::string_view previous;
  stack_->each(types, kMostTensors, [&](const Value& type) {
    const std::string_view name = text_of(type);
    hash = combine(hash, hash_text(name));
    if (name != previous && text.size() < 60) {
      text += ' ';
      text += name;
    }
    previous = name;
  });
  return hash;
}

void DumpBuilder::write_sizes(const Value& sizes, std::string& text) const {
  text += '[';
  std::size_t shown = 0, all = 0;
  stack_->each(sizes, kMostTensors, [&](const Value& tensor) {
    if (++all > kMostShown) return;
    text += shown++ > 0 ? ", [" : "[";
    bool first = true;
    stack_->each(tensor, kMostShown, [&](const Value& dimension) {
      text += fmt::format("{}{}", first ? "" : ", ", dimension.number);
      first = false;
    });
    text += ']';
  });
  text += all > kMostShown ? fmt::format(", {} more]", all - kMostShown) : "]";
}

// The same four lists are the same arguments.
std::uint32_t DumpBuilder::arguments_of(const Entry& entry) {
  std::uint64_t key = 0;
  for (const Value* list : {&entry.in, &entry.out, &entry.in_types, &entry.out_types}) {
    if (list->kind != Kind::kList || list->number != 1) return new_arguments(entry);
    key = combine(key, list->index);
  }
  std::uint32_t number = arguments_by_lists_.find(key);
  if (number != NumberByHash::kNone) return number;
  number = new_arguments(entry);
  arguments_by_lists_.add(key, number);
  return number;
}

// The hash over the dimensions themselves finds calls with the same arguments.
std::uint32_t DumpBuilder::new_arguments(const Entry& entry) {
  std::uint64_t key = 17;
  const auto add_sizes = [&](const Value& sizes) {
    stack_->each(sizes, kMostTensors, [&](const Value& tensor) {
      key = combine(key, 0x5bd1e995);
      stack_->each(tensor, kMostDimensions, [&](const Value& dimension) {
        key = combine(key, static_cast<std::uint64_t>(dimension.number));
      });
    });
    key = combine(key, 0x1b873593);
  };
  const auto add_types = [&](const Value& types) {
    stack_->each(types, kMostTensors, [&](const Value& type) { key = combine(key, type.index); });
    key = combine(key, 0xcc9e2d51);
  };
  add_sizes(entry.in);
  add_sizes(entry.out);
  add_types(entry.in_types);
  add_types(entry.out_types);
  const std::uint32_t known = arguments_by_hash_.find(key);
  if (known != NumberByHash::kNone) return known;
  const auto number = static_cast<std::uint32_t>(dump_.arguments.size());
  arguments_by_hash_.add(key, number);
  Arguments made;
  std::string types, out_types;
  made.in = size_hash(entry.in, made.elements_in, made.tensors);
  made.out = size_hash(entry.out, made.elements_out, made.tensors);
  made.in_types = type_hash(entry.in_types, types);
  made.out_types = type_hash(entry.out_types, out_types);
  write_sizes(entry.in, made.sizes);
  if (made.in != made.out || made.in_types != made.out_types) {
    made.sizes += types + " -> ";
    write_sizes(entry.out, made.sizes);
    made.sizes += out_types;
  } else {
    made.sizes += types;
  }
  dump_.arguments.push_back(std::move(made));
  return number;
}

std::uint32_t DumpBuilder::stack_of(const Value& frames) {
  if (frames.kind == Kind::kStack) return frames.index;
  if (frames.kind != Kind::kList) return kNoIndex;
  frame_numbers_.clear();
  stack_->each(frames, kMostFrames, [&](const Value& frame) {
    if (frame.kind == Kind::kFrame) frame_numbers_.push_back(frame.index);
  });
  return frame_numbers_.empty() ? kNoIndex : stack_number();
}

bool DumpBuilder::take_frames(std::span<const Value> frames, Value& replacement) {
  frame_numbers_.clear();
  for (const Value& frame : frames) {
    if (frame.kind != Kind::kFrame || frame_numbers_.size() >= kMostFrames) return false;
    frame_numbers_.push_back(frame.index);
  }
  if (frame_numbers_.empty()) return false;
  replacement = {Kind::kStack, stack_number(), 0};
  return true;
}

// Of the frames in frame_numbers_.
std::uint32_t DumpBuilder::stack_number() {
  std::uint64_t key = 0;
  for (const std::uint32_t frame : frame_numbers_) {
    key = (key ^ frame) * 0x9fb21c651e98df25ULL;
    key ^= key >> 32;
  }
  const std::uint32_t known = stacks_by_hash_.find(key);
  if (known != NumberByHash::kNone) return known;
  const auto number = static_cast<std::uint32_t>(dump_.stacks.size());
  stacks_by_hash_.add(key, number);
  Stack stack;
  for (const std::uint32_t one : frame_numbers_) {
    const Frame& frame = dump_.frames[one];
    if (frame.is_torch) continue;
    stack.site = combine(stack.site, hash_text(frame.name));
    stack.site = combine(stack.site, hash_text(frame.file));
    stack.site = combine(stack.site, static_cast<std::uint64_t>(frame.line));
  }
  stack.frames = frame_numbers_;
  dump_.stacks.push_back(std::move(stack));
  return number;
}

}  // namespace comm_probe::torch

// From closed dictionaries to the records of dump.h, the same for pickle and JSON. An entry is any
// dictionary with a "profiling_name", a frame any with "filename"; the rest (pg_config, pg_status,
// version) is read from what lies on the stack when the text ends, also where it ends too early.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "torch/dump.h"
#include "torch/readers/number_by_hash.h"
#include "torch/readers/rank_lists.h"
#include "torch/readers/value_stack.h"

namespace comm_probe::torch {

// Groups and operations of one dump are numbered with 16 bits.
inline constexpr std::size_t kMostNumbered = 0xfff0;

class DumpBuilder : public DictSink {
 public:
  explicit DumpBuilder(RankLists& rank_lists);
  DumpBuilder(const DumpBuilder&) = delete;
  DumpBuilder& operator=(const DumpBuilder&) = delete;

  StringTable& strings() { return strings_; }
  bool take(std::span<const Value> pairs, Value& replacement) override;
  bool take_frames(std::span<const Value> frames, Value& replacement) override;
  // The records of everything that was taken, and the groups of what is left on the stack.
  Dump finish(const ValueStack& stack);
  // The stack that it looks into while dictionaries close.
  void look_into(const ValueStack& stack) { stack_ = &stack; }

 private:
  struct Entry;
  bool take_entry(std::span<const Value> pairs, Value& replacement);
  bool take_frame(std::span<const Value> pairs, Value& replacement);
  void set_field(Entry& entry, std::uint32_t key, const Value& value);
  std::uint16_t group_of(const Entry& entry);
  std::uint16_t operation_of(std::uint32_t name);
  std::uint32_t arguments_of(const Entry& entry);
  std::uint32_t new_arguments(const Entry& entry);
  std::uint32_t stack_of(const Value& frames);
  std::uint32_t stack_number();
  std::uint64_t type_hash(const Value& types, std::string& text);
  std::uint64_t size_hash(const Value& sizes, std::int64_t& elements, std::uint32_t& tensors);
  void write_sizes(const Value& sizes, std::string& text) const;
  std::string_view text_of(const Value& value) const;

  void read_root(const ValueStack& stack);
  void read_root_item(std::uint32_t key, const Value& value);
  RankList ranks_of(const Value& value);
  void read_pg_config(const Value& config);
  void read_pg_status(const Value& status);
  void name_local_ids();
  void configure(std::string_view name, const RankList& ranks, std::string_view desc);

  StringTable strings_;
  RankLists& rank_lists_;
  const ValueStack* stack_ = nullptr;
  Dump dump_ = {};
  std::vector<std::uint16_t> operation_of_string_ = {};
  NumberByHash arguments_by_hash_ = {};
  NumberByHash arguments_by_lists_ = {};  // of lists that stay
  NumberByHash stacks_by_hash_ = {};
  NumberByHash groups_by_key_ = {};
  std::vector<std::uint32_t> frame_numbers_ = {};
  struct Status {
    int local_id;
    Progress progress;
  };
  std::vector<Status> statuses_ = {};
};

}  // namespace comm_probe::torch

// `hang` on dumps of many ranks: CPU time and memory of the whole command, and bytes per second of
// the reader alone. Prints our rows beside the recorded ones of the public analyzer (data/hang/
// timing.md, another machine state) and, as calibration of this run, python's pickle.loads over the
// same files.
//   bench_hang COMM_PROBE [FOLDER] [quick | full]
// The dumps are laid out as tools/gen_dumps.py lays them out: one rank stopped before its last
// step.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "bench/child_cost.h"
#include "bench/cpu_time.h"
#include "torch/torch.h"

namespace {

namespace fs = std::filesystem;
using comm_probe::Cost;
using comm_probe::cost_of;

struct Layout {
  const char* name;
  int ranks;
  int tp;  // 1: one group of all ranks
  int entries;
  int frames;
  // user CPU seconds and MiB of the public analyzer, from timing.md; 0: not recorded
  double peer_cpu_s;
  double peer_mib;
};

// The opcode stream of PyTorch's C++ pickler: protocol 2, strings memoised by value, 8-byte LONG1,
// frames shared through the memo.
class Pickler {
 public:
  Pickler() { out_ = std::string("\x80\x02", 2); }
  void op(const char* bytes) { out_ += bytes; }
  void text(const std::string& value) {
    const auto [place, is_new] = memo_.try_emplace(value, next_);
    if (!is_new) return get(place->second);
    out_ += 'X';
    little(value.size(), 4);
    out_ += value;
    put();
  }
  void number(std::int64_t value) {
    if (value >= 0 && value < 256) {
      out_ += 'K';
      little(static_cast<std::uint64_t>(value), 1);
    } else if (value >= 0 && value < 65536) {
      out_ += 'M';
      little(static_cast<std::uint64_t>(value), 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
      out_ += 'J';
      little(static_cast<std::uint64_t>(value), 4);
    } else {
      out_ += std::string("\x8a\x08", 2);
      little(static_cast<std::uint64_t>(value), 8);
    }
  }
  void key(const char* name, std::int64_t value) { text(name), number(value); }
  void key(const char* name, const std::string& value) { text(name), text(value); }
  void frame(int number) {
    const auto [place, is_new] = frames_.try_emplace(number, 0U);
    if (!is_new) return get(place->second);
    op("}(");
    key("name", "layer_fn_" + std::to_string(number));
    key("filename", "/workspace/train/model/block_" + std::to_string(number) + ".py");
    key("line", 40 + number);
    op("u");
    place->second = next_;
    put();
  }
  std::string finish() {
    put();
    out_ += '.';
    return std::move(out_);
  }

 private:
  void little(std::uint64_t value, std::size_t size) {
    out_.append(reinterpret_cast<const char*>(&value), size);
  }
  void put() {
    out_ += next_ < 256 ? 'q' : 'r';
    little(next_, next_ < 256 ? 1 : 4);
    ++next_;
  }
  void get(std::uint32_t index) {
    out_ += index < 256 ? 'h' : 'j';
    little(index, index < 256 ? 1 : 4);
  }
  std::string out_ = {};
  std::map<std::string, std::uint32_t> memo_ = {};
  std::map<int, std::uint32_t> frames_ = {};
  std::uint32_t next_ = 0;
};

struct GroupOf {
  int id;
  std::string name;
  std::string desc;
  std::vector<int> ranks;
};

std::vector<GroupOf> groups_of(const Layout& layout, int rank) {
  GroupOf dp{1, std::to_string(1 + rank % layout.tp), "DATA_PARALLEL_GROUP", {}};
  for (int r = rank % layout.tp; r < layout.ranks; r += layout.tp) dp.ranks.push_back(r);
  if (layout.tp == 1) return {dp};
  const int first = rank / layout.tp * layout.tp;
  GroupOf tp{
      2, std::to_string(1 + layout.tp + rank / layout.tp), "TENSOR_MODEL_PARALLEL_GROUP", {}};
  for (int r = first; r < first + layout.tp; ++r) tp.ranks.push_back(r);
  return {dp, tp};
}

std::string list_text(const std::vector<int>& ranks) {
  std::string text = "[";
  for (const int rank : ranks) text += (text.size() > 1 ? ", " : "") + std::to_string(rank);
  return text + "]";
}

struct Entry {
  int record;
  int seq;
  bool pending;
};

void write_entry(Pickler& out, const Layout& layout, const GroupOf& group, const Entry& entry) {
  out.op("}(");
  if (layout.frames > 0) {
    out.text("frames");
    out.op("](");
    for (int f = 0; f < layout.frames; ++f) out.frame(f < 4 ? 100 + entry.record % 16 * 4 + f : f);
    out.op("e");
  }
  const std::int64_t time = 1'760'000'000'000'000'000 + entry.record * 20'000LL;
  out.key("record_id", entry.record);
  out.key("pg_id", group.id);
  out.text("process_group");
  out.text(group.name);
  out.text(group.desc);
  out.op("\x86");
  out.key("thread_name", "pt_main_thread");
  out.key("thread_id", "140000000000000");
  out.key("collective_seq_id", entry.seq);
  out.key("p2p_seq_id", 0);
  out.key("op_id", entry.seq);
  out.key("profiling_name", "nccl:all_reduce");
  out.key("time_created_ns", time);
  for (const char* side : {"input", "output"}) {
    out.text(std::string(side) + "_sizes");
    out.op("](](");
    out.number(group.id == 2 ? 4096 : 6553600 + entry.record % 8 * 1024);
    out.op("ee");
    out.text(std::string(side) + "_dtypes");
    out.op("](");
    out.text("Float");
    out.op("e");
  }
  out.key("state", entry.pending ? "scheduled" : "completed");
  out.text("time_discovered_started_ns");
  out.op("N");
  out.text("time_discovered_completed_ns");
  entry.pending ? out.op("N") : out.number(time + 100'000'000);
  out.text("retired");
  out.op(entry.pending ? "\x89" : "\x88");
  out.key("timeout_ms", 600000);
  out.text("is_p2p");
  out.op("\x89u");
}

void write_header(Pickler& out, const std::vector<GroupOf>& groups, int enqueued, int open) {
  out.op("}(");
  out.key("version", "2.10");
  out.text("pg_config");
  out.op("}(");
  for (const GroupOf& group : groups) {
    out.text(group.name);
    out.op("}(");
    out.key("name", group.name);
    out.key("desc", group.desc);
    out.key("ranks", list_text(group.ranks));
    out.op("u");
  }
  out.op("u");
  out.key("comm_lib_version", "2.27.3");
  out.text("pg_status");
  out.op("}(");
  for (const GroupOf& group : groups) {
    out.text(std::to_string(group.id));
    out.op("}(");
    out.key("last_enqueued_collective", enqueued);
    out.key("last_started_collective", -1);
    out.key("last_completed_collective", enqueued - open);
    out.op("u");
  }
  out.op("u");
}

// All ranks make the same calls, groups in turn; the last rank lacks the last `kMissing` of each.
std::string dump_of(const Layout& layout, int rank) {
  constexpr int kMissing = 4, kOlder = 64;
  const auto groups = groups_of(layout, rank);
  const auto count = static_cast<int>(groups.size());
  const bool is_stuck = rank == layout.ranks - 1;
  const int calls = (layout.entries + kOlder) / count;
  const int open = is_stuck ? 0 : kMissing;
  const int made = is_stuck ? calls - kMissing : calls;
  Pickler out;
  write_header(out, groups, made, open);
  out.text("entries");
  out.op("](");
  const int first = std::max(0, made * count - layout.entries);
  for (int record = first; record < made * count; ++record) {
    const int seq = record / count + 1;
    write_entry(out, layout, groups[static_cast<std::size_t>(record % count)],
                {record, seq, seq > calls - kMissing});
  }
  out.op("e");
  out.op("u");
  return out.finish();
}

std::uint64_t write_dumps(const Layout& layout, const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < layout.ranks; ++rank) {
    const std::string dump = dump_of(layout, rank);
    bytes += dump.size();
    std::ofstream(folder / ("rank_" + std::to_string(rank)), std::ios::binary) << dump;
  }
  return bytes;
}

double reader_mb_per_s(const fs::path& folder, int files) {
  using namespace comm_probe;
  std::vector<std::string> texts;
  double bytes = 0;
  for (int rank = 0; rank < files; ++rank) {
    std::ifstream file(folder / ("rank_" + std::to_string(rank)), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    bytes += static_cast<double>(texts.back().size());
  }
  torch::RankLists lists;
  std::size_t calls = 0;
  const double ms = median_ms(5, [&] {
    for (const std::string& text : texts)
      if (auto dump = torch::read_dump("rank_0", text, lists)) calls += dump->calls.size();
  });
  if (calls == 0) std::abort();
  return bytes / 1e3 / ms;
}

void measure(const Layout& layout, const std::string& binary, const fs::path& folder) {
  const std::uint64_t bytes = write_dumps(layout, folder);
  const double reader = reader_mb_per_s(folder, std::min(layout.ranks, 16));
  const Cost ours = cost_of({binary, "hang", folder.string(), "--json"});
  const std::string expected = fmt::format("\"culprit_ranks\": [\n        {}\n", layout.ranks - 1);
  const bool is_right = ours.out.find("\"class\": \"rank_dead_or_stuck\"") != std::string::npos &&
                        ours.out.find(expected) != std::string::npos;
  const Cost python =
      cost_of({"python3", "-c",
               "import pickle,os,sys,gc\ngc.disable()\nfor n in os.listdir(sys.argv[1]):\n"
               " pickle.loads(open(os.path.join(sys.argv[1],n),'rb').read())",
               folder.string()});
  fmt::print(
      "{:<22} {:>6} {:>8.1f} MB | ours {:>7.2f} s CPU {:>7.2f} s wall {:>6.0f} MiB, reader "
      "{:>5.0f} MB/s, verdict {} | analyzer, recorded {:>5} s {:>5} MiB | pickle.loads, this run "
      "{:>6.2f} s CPU, {:.1f}x ours\n",
      layout.name, layout.ranks, static_cast<double>(bytes) / 1e6, ours.cpu_s, ours.wall_s,
      ours.mib, reader, is_right ? "right" : "WRONG",
      layout.peer_cpu_s > 0 ? fmt::format("{:.0f}", layout.peer_cpu_s) : "-",
      layout.peer_mib > 0 ? fmt::format("{:.0f}", layout.peer_mib) : "-", python.cpu_s,
      python.cpu_s / ours.cpu_s);
  std::fflush(stdout);
  fs::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string binary = argc > 1 ? argv[1] : "build/comm-probe";
  const fs::path folder =
      argc > 2 ? fs::path(argv[2]) : fs::temp_directory_path() / "comm-probe-hang";
  const bool full = argc > 3 && std::strcmp(argv[3], "full") == 0;
  const bool quick = argc > 3 && std::strcmp(argv[3], "quick") == 0;
  std::vector<Layout> layouts = {{"dp 24 frames", 64, 1, 2000, 24, 3.5, 247},
                                 {"tp 24 frames", 64, 8, 2000, 24, 7.5, 264},
                                 {"dp 24 frames", 1024, 1, 2000, 24, 100, 3.7 * 1024},
                                 {"tp 20 frames", 1024, 8, 2000, 20, 155, 3.9 * 1024}};
  if (full) layouts.push_back({"tp 8 frames, 200 calls", 16384, 8, 200, 8, 0, 0});
  if (quick) layouts.resize(2);
  for (const Layout& layout : layouts) measure(layout, binary, folder);
  return 0;
}

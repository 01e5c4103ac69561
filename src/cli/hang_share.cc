#include "cli/hang_share.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <set>
#include <tuple>

#include "core/input.h"
#include "core/packed_caveat.h"
#include "core/parallel.h"
#include "torch/packed_records.h"

namespace comm_probe::cli {

// A file as one process sees it. The same path with another size or time is another file.
struct SeenFile {
  std::string path = {};
  std::int64_t size = 0;
  std::int64_t time_ns = 0;
  bool is_there = false;
  auto key() const { return std::tie(path, size, time_ns); }
  bool operator<(const SeenFile& other) const { return key() < other.key(); }
};
struct Sight {
  std::vector<SeenFile> files = {};
  std::optional<core::Error> error = {};
};
// Who reads what; the place in the list is the place in the result.
struct Share {
  std::string path = {};
  int rank = 0;
};
struct ReadFile {
  std::uint64_t place = 0;
  HangFile content = {};
};

template <class Archive>
void pack_fields(Archive& archive, SeenFile& file) {
  archive(file.path, file.size, file.time_ns, file.is_there);
}
template <class Archive>
void pack_fields(Archive& archive, Sight& sight) {
  archive(sight.files, sight.error);
}
template <class Archive>
void pack_fields(Archive& archive, Share& share) {
  archive(share.path, share.rank);
}
template <class Archive>
void pack_fields(Archive& archive, HangFile& file) {
  std::shared_ptr<const torch::Digest> digest = file.digest;
  archive(digest, file.lines, file.caveats, file.error);
  file.digest = std::const_pointer_cast<torch::Digest>(digest);
}
template <class Archive>
void pack_fields(Archive& archive, ReadFile& file) {
  archive(file.place, file.content);
}

namespace {

using core::Result;

template <class T>
std::string packed(const T& value) {
  core::Packer packer;
  packer(value);
  return packer.bytes();
}

core::Error other_build(std::size_t rank) {
  return core::missing_error(
      fmt::format("process {} of the crew sent what this one cannot read", rank),
      "start the same comm-probe on all hosts");
}

Sight look(const std::vector<std::string>& paths) {
  Sight sight;
  const auto files = core::expand_paths(paths);
  if (!files) {
    sight.error = files.error();
    return sight;
  }
  for (const std::string& path : *files) {
    SeenFile seen{path};
    struct stat status = {};
    seen.is_there = path == "-" || ::stat(path.c_str(), &status) == 0;
    if (seen.is_there) {
      seen.size = status.st_size;
      seen.time_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    }
    sight.files.push_back(std::move(seen));
  }
  return sight;
}

// In the order of the first process, then what only others see; in turn among those who see it.
// Standard input is that of the first; a name that no process has fails once.
std::vector<Share> shares_of(const std::vector<Sight>& sights) {
  std::map<SeenFile, std::vector<int>> seen_by;
  std::vector<const SeenFile*> order;
  std::set<std::string> existing;
  for (const Sight& sight : sights)
    for (const SeenFile& file : sight.files)
      if (file.is_there) existing.insert(file.path);
  for (std::size_t rank = 0; rank < sights.size(); ++rank)
    for (const SeenFile& file : sights[rank].files) {
      if (!file.is_there && existing.contains(file.path)) continue;  // only others have it
      std::vector<int>& ranks = seen_by[file];
      if (ranks.empty()) order.push_back(&file);
      ranks.push_back(static_cast<int>(rank));
    }
  std::vector<Share> shares;
  for (const SeenFile* file : order) {
    const std::vector<int>& ranks = seen_by[*file];
    const int reader = file->path == "-" ? ranks.front() : ranks[shares.size() % ranks.size()];
    shares.push_back({file->path, reader});
  }
  return shares;
}

std::vector<ReadFile> read_share(const std::vector<Share>& shares, int rank,
                                 core::Progress& progress) {
  std::vector<ReadFile> mine;
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i].rank == rank) mine.push_back({i, {}});
  torch::RankLists rank_lists;
  progress.begin("hang: reading", mine.size(), "files");
  core::for_each_index(
      mine.size(),
      [&](std::size_t i) {
        mine[i].content = read_hang_file(shares[mine[i].place].path, rank_lists);
        progress.advance();
      },
      1);
  progress.begin("hang: comparing the ranks");
  return mine;
}

// Lists of ranks that several processes read are one again.
void join_rank_lists(HangFile& file, torch::RankLists& rank_lists) {
  if (!file.digest) return;
  for (torch::DumpGroup& group : file.digest->dump.groups)
    if (group.ranks) group.ranks = rank_lists.of(*group.ranks);
}

Result<HangFiles> joined(const std::vector<Share>& shares, const std::vector<std::string>& parts) {
  HangFiles all;
  for (const Share& share : shares) all.files.push_back({share.path, {}});
  torch::RankLists rank_lists;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    std::vector<ReadFile> files;
    core::Unpacker unpacker(parts[rank]);
    unpacker(files);
    if (!unpacker.ok()) return other_build(rank);
    for (ReadFile& file : files) {
      if (file.place >= all.files.size()) return other_build(rank);
      join_rank_lists(file.content, rank_lists);
      all.files[file.place].content = std::move(file.content);
    }
  }
  return all;
}

Result<std::vector<Sight>> sights_of(const std::vector<std::string>& parts) {
  std::vector<Sight> sights(parts.size());
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    core::Unpacker unpacker(parts[rank]);
    unpacker(sights[rank]);
    if (!unpacker.ok()) return other_build(rank);
  }
  return sights;
}

Result<HangFiles> read_alone(const std::vector<std::string>& paths, core::Progress& progress) {
  const Sight sight = look(paths);
  if (sight.error) return *sight.error;
  const std::vector<Share> shares = shares_of({sight});
  HangFiles all;
  for (ReadFile& file : read_share(shares, 0, progress))
    all.files.push_back({shares[file.place].path, std::move(file.content)});
  return all;
}

}  // namespace

// Whatever fails on the first process, all make the same calls.
Result<HangFiles> read_hang_files(const std::vector<std::string>& paths, core::Crew& crew,
                                  core::Progress& progress) {
  if (crew.size() == 1) return read_alone(paths, progress);
  const std::vector<std::string> looked = crew.gather(packed(look(paths)));
  const auto sights = sights_of(looked);
  std::vector<Share> shares = sights ? shares_of(*sights) : std::vector<Share>();
  const std::string same = crew.broadcast(packed(shares));
  core::Unpacker unpacker(same);
  unpacker(shares);
  if (!unpacker.ok()) shares.clear();
  const std::vector<std::string> parts =
      crew.gather(packed(read_share(shares, crew.rank(), progress)));
  if (!crew.is_first()) return HangFiles{};
  if (!sights) return sights.error();
  if (shares.empty()) return sights->front().error.value_or(core::input_error("no file"));
  return joined(shares, parts);
}

}  // namespace comm_probe::cli

// The same collectives on SimGrid, an independent simulator: flows on links, latency and bandwidth,
// no cross-traffic. Every rank has one link out and one link in, or the links and ways of a file.
//   simgrid_peer ALGORITHM RANKS BYTES ALPHA_SECONDS BETA_BYTES_PER_SECOND
//   simgrid_peer ALGORITHM RANKS BYTES ALPHA_SECONDS FILE [exact]
// FILE: the number of links, the bytes per second of each, then for every pair of ranks, by sender
// and by receiver, how many links its way has, and which.
// ALGORITHM: ring, tree (all_reduce), direct (all_to_all). Prints the time of the last rank in
// seconds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <istream>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace {

namespace s4u = simgrid::s4u;

struct Job {
  std::string algorithm;
  int ranks;
  double bytes;
  double alpha;
  std::string links;  // the rate of one, or a file
};

s4u::Mailbox* mailbox(int from, int to) {
  return s4u::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
}

int payload = 0;

class Rank {
 public:
  Rank(const Job& job, int rank) : job_(job), rank_(rank) {}

  void work() {
    const int n = job_.ranks;
    for (const int from : senders()) mailbox(from, rank_)->set_receiver(s4u::Actor::self());
    const double share = job_.bytes / n;
    if (job_.algorithm == "ring")
      for (int round = 0; round < 2 * (n - 1); ++round)
        exchange((rank_ + 1) % n, (rank_ + n - 1) % n, share);
    else if (job_.algorithm == "direct")
      for (int distance = 1; distance < n; ++distance)
        exchange((rank_ + distance) % n, (rank_ + n - distance) % n, share);
    else
      tree();
  }

 private:
  void exchange(int to, int from, double bytes) {
    const auto sent = mailbox(rank_, to)->put_async(&payload, static_cast<uint64_t>(bytes));
    int* data = nullptr;
    const auto received = mailbox(from, rank_)->get_async(&data);
    sent->wait();
    received->wait();
  }
  // Whose messages come in before they are asked for.
  std::vector<int> senders() const {
    const int n = job_.ranks;
    if (job_.algorithm == "ring") return {(rank_ + n - 1) % n};
    std::vector<int> all;
    for (int rank = 0; rank < n; ++rank)
      if (rank != rank_) all.push_back(rank);
    return all;
  }
  // Up when all children have sent, then down.
  void tree() {
    const auto bytes = static_cast<uint64_t>(job_.bytes);
    std::vector<int> children;
    for (const int child : {2 * rank_ + 1, 2 * rank_ + 2})
      if (child < job_.ranks) children.push_back(child);
    std::vector<s4u::CommPtr> open;
    std::vector<int*> data(children.size());
    for (std::size_t i = 0; i < children.size(); ++i)
      open.push_back(mailbox(children[i], rank_)->get_async(&data[i]));
    for (const auto& comm : open) comm->wait();
    if (rank_ > 0) {
      const int parent = (rank_ - 1) / 2;
      mailbox(rank_, parent)->put(&payload, bytes);
      mailbox(parent, rank_)->get<int>();
    }
    open.clear();
    for (const int child : children)
      open.push_back(mailbox(rank_, child)->put_async(&payload, bytes));
    for (const auto& comm : open) comm->wait();
  }

  const Job& job_;
  int rank_;
};

using Hosts = std::vector<s4u::Host*>;

void join(s4u::NetZone* zone, s4u::Host* from, s4u::Host* to,
          const std::vector<s4u::LinkInRoute>& way) {
  zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, way, false);
}

void build_ports(s4u::NetZone* zone, const Hosts& hosts, const Job& job) {
  const double beta = std::atof(job.links.c_str());
  std::vector<s4u::Link*> out, in;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const std::string name = std::to_string(rank);
    out.push_back(zone->create_link("out" + name, beta)->set_latency(job.alpha)->seal());
    in.push_back(zone->create_link("in" + name, beta)->set_latency(0)->seal());
  }
  for (std::size_t a = 0; a < hosts.size(); ++a)
    for (std::size_t b = 0; b < hosts.size(); ++b)
      if (a != b)
        join(zone, hosts[a], hosts[b], {s4u::LinkInRoute(out[a]), s4u::LinkInRoute(in[b])});
}

using Way = std::vector<std::size_t>;

std::vector<Way> read_ways(std::istream& file, int ranks) {
  std::vector<Way> ways;
  for (int pair = 0; pair < ranks * (ranks - 1); ++pair) {
    std::size_t length = 0;
    file >> length;
    ways.emplace_back(length);
    for (std::size_t& link : ways.back()) file >> link;
  }
  if (!file) std::exit(3);
  return ways;
}

void build_ways(s4u::NetZone* zone, const Hosts& hosts, const Job& job) {
  std::ifstream file(job.links);
  std::size_t count = 0;
  file >> count;
  std::vector<double> rates(count), alphas(count, 0);
  for (double& rate : rates) file >> rate;
  const std::vector<Way> ways = read_ways(file, job.ranks);
  // one alpha for every way: SimGrid weighs shares by latency
  for (const Way& way : ways) alphas.at(way.at(0)) = job.alpha;
  std::vector<s4u::Link*> links;
  for (std::size_t i = 0; i < count; ++i)
    links.push_back(
        zone->create_link("link" + std::to_string(i), rates[i])->set_latency(alphas[i])->seal());
  auto way = ways.begin();
  for (std::size_t a = 0; a < hosts.size(); ++a)
    for (std::size_t b = 0; b < hosts.size(); ++b) {
      if (a == b) continue;
      std::vector<s4u::LinkInRoute> route;
      for (const std::size_t link : *way++) route.emplace_back(links.at(link));
      join(zone, hosts[a], hosts[b], route);
    }
}

void build(const Job& job) {
  auto* zone = s4u::create_full_zone("all");
  Hosts hosts;
  for (int rank = 0; rank < job.ranks; ++rank)
    hosts.push_back(zone->create_host(std::to_string(rank), 1e9)->seal());
  const bool is_rate = job.links.find_first_not_of("0123456789.e+-") == std::string::npos;
  is_rate ? build_ports(zone, hosts, job) : build_ways(zone, hosts, job);
  zone->seal();
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("network/TCP-gamma:0");
  if (argc != 6 && argc != 7) return 2;
  if (argc == 7) {
    // Its lazy way, the default, does not renew every share that changes (a tree of 255 ranks on
    // rails comes out 0.2 % too short), and takes events within a nanosecond as one.
    s4u::Engine::set_config("network/optim:Full");
    s4u::Engine::set_config("surf/precision:1e-13");
  }
  const Job job = {argv[1], std::atoi(argv[2]), std::atof(argv[3]), std::atof(argv[4]), argv[5]};
  build(job);
  double last = 0;
  for (int rank = 0; rank < job.ranks; ++rank)
    s4u::Actor::create(std::to_string(rank), engine.host_by_name(std::to_string(rank)),
                       [&job, &last, rank] {
                         Rank(job, rank).work();
                         last = std::max(last, s4u::Engine::get_clock());
                       });
  engine.run();
  std::printf("%.12g\n", last);
}

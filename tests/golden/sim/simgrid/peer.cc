// The same collectives on SimGrid, an independent simulator: flows on links, latency and bandwidth,
// no cross-traffic. Every rank has one link out and one link in.
//   simgrid_peer ALGORITHM RANKS BYTES ALPHA_SECONDS BETA_BYTES_PER_SECOND
// ALGORITHM: ring, tree (all_reduce), direct (all_to_all). Prints the time of the last rank in
// seconds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace {

namespace s4u = simgrid::s4u;

struct Job {
  std::string algorithm;
  int ranks;
  double bytes;
  double alpha, beta;
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

void build(const Job& job) {
  auto* zone = s4u::create_full_zone("all");
  std::vector<s4u::Host*> hosts;
  std::vector<s4u::Link*> out, in;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const std::string name = std::to_string(rank);
    hosts.push_back(zone->create_host(name, 1e9)->seal());
    out.push_back(zone->create_link("out" + name, job.beta)->set_latency(job.alpha)->seal());
    in.push_back(zone->create_link("in" + name, job.beta)->set_latency(0)->seal());
  }
  for (std::size_t a = 0; a < hosts.size(); ++a)
    for (std::size_t b = 0; b < hosts.size(); ++b)
      if (a != b)
        zone->add_route(hosts[a]->get_netpoint(), hosts[b]->get_netpoint(), nullptr, nullptr,
                        {s4u::LinkInRoute(out[a]), s4u::LinkInRoute(in[b])}, false);
  zone->seal();
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("network/TCP-gamma:0");
  if (argc != 6) return 2;
  const Job job = {argv[1], std::atoi(argv[2]), std::atof(argv[3]), std::atof(argv[4]),
                   std::atof(argv[5])};
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

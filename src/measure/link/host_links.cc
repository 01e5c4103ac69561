#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/finding_table.h"
#include "measure/link/crew.h"
#include "measure/link/phases.h"

namespace comm_probe::measure {
namespace {

using core::Bandwidth;
using core::Basis;
using core::Bytes;
using core::Duration;
using topology::HostTopology;

// Up to here sizes are measured in steps of two: a message grows from one line to many, and time
// from a latency to a bandwidth.
constexpr double kLatencyCounts = 64 << 10;

// Where nothing is known of the caches, levels are named after these sizes (smallest and largest
// common of current server processors); a caveat of the topology says so.
constexpr double kAssumedL1 = 32 << 10;
constexpr double kAssumedL2 = 1 << 20;
constexpr double kAssumedL3 = 32 << 20;

double cache_bytes(const HostTopology& host, int level, double assumed) {
  const topology::Cache* cache = host.cache(level);
  if (cache != nullptr) return cache->size.count();
  return host.caches.empty() ? assumed : 0;  // a machine without L3 has none
}

core::Sourced<Duration> measured_time(double seconds, const std::string& how) {
  return {Duration::from_seconds(seconds), Basis::kMeasured, how};
}
core::Sourced<Bandwidth> measured_rate(double bytes, double seconds, const std::string& how) {
  return {Bandwidth::from_bytes_per_second(seconds > 0 ? bytes / seconds : 0), Basis::kMeasured,
          how};
}

// CPU time that the hypervisor gave to others since boot, over all CPUs.
double stolen_seconds(const core::Host& host) {
  const std::string stat = host.read("/proc/stat").value_or("");
  std::vector<double> fields;
  const char* at = stat.c_str() + std::min<std::size_t>(stat.size(), 4);  // after "cpu "
  for (int i = 0; i < 8; ++i) {
    char* end = nullptr;
    fields.push_back(std::strtod(at, &end));
    at = end;
  }
  return fields[7] / 100;  // USER_HZ is 100 on every Linux port that we build for
}

double load_average(const core::Host& host) {
  return std::strtod(host.read("/proc/loadavg").value_or("0").c_str(), nullptr);
}

std::string pair_name(const std::vector<int>& pair) {
  return fmt::format("CPU {} - CPU {}", pair[0], pair[1]);
}

// Powers of two while the latency counts, then powers of four, to beyond every cache and within a
// sixteenth of the memory.
std::vector<Bytes> messages_for(const HostTopology& host, const LinkPlan& plan) {
  const double l3 = cache_bytes(host, 3, kAssumedL3);
  double most = std::max(2 * l3, 64.0 * (1 << 20));
  if (plan.is_quick) most = std::min(most, std::max(l3, 16.0 * (1 << 20)));
  if (plan.largest_message) most = std::max(8.0, plan.largest_message->count());
  if (host.memory) most = std::min(most, host.memory->count() / 16);
  const double least = plan.smallest_message ? plan.smallest_message->count() : 0;
  std::vector<Bytes> messages = {Bytes::of(8)};
  for (double w = 16; w <= most; w *= w < kLatencyCounts ? 2 : 4)
    if (w >= least) messages.push_back(Bytes::of(w));
  if (plan.largest_message && messages.back().count() < most) messages.push_back(Bytes::of(most));
  return messages;
}

struct Measuring {
  const HostTopology& host;
  const LinkPlan& plan;
  std::vector<int> pair;
  HostLinks& out;
};

std::optional<core::Error> add_latencies(Measuring& m) {
  const BlockPlan blocks{.blocks = m.plan.is_quick ? 15 : 41};
  const auto flag = time_flag(m.pair, blocks);
  if (!flag) return flag.error();
  const auto wake = time_wake(m.pair, {.blocks = m.plan.is_quick ? 7 : 21});
  if (!wake) return wake.error();
  m.out.flag = Duration::from_seconds(flag->seconds.median);
  m.out.wake = Duration::from_seconds(wake->seconds.median);
  m.out.context.alpha_before = m.out.flag;
  m.out.context.preemptions += flag->preemptions;  // a sleeper is not preempted
  m.out.links.push_back({pair_name(m.pair),
                         LinkKind::kFlag,
                         measured_time(flag->seconds.median, "half a flag ping-pong"),
                         {},
                         "",
                         {},
                         flag->seconds});
  m.out.links.push_back({pair_name(m.pair),
                         LinkKind::kWake,
                         measured_time(wake->seconds.median, "from the store to the sleeper awake"),
                         {},
                         "",
                         {},
                         wake->seconds});
  return std::nullopt;
}

void add_channel_links(Measuring& m, const ChannelTimes& times, const std::string& level) {
  const auto link = [&](LinkKind kind, const Summary& seconds, const char* how) {
    m.out.links.push_back({pair_name(m.pair),
                           kind,
                           {},
                           measured_rate(times.message.count(), seconds.median, how),
                           level,
                           times.message,
                           seconds,
                           times.streaming});
  };
  link(LinkKind::kCopy, times.one_way, "w / time of a message one way and its acknowledgement");
  link(LinkKind::kExchange, times.exchange, "w / time of a message both ways at once");
  link(LinkKind::kReduce, times.reduce, "w / time of result = own + window in f32, both at once");
  link(LinkKind::kRelay, times.relay, "w / time to receive, add own, keep and send on");
}

TransferCost cost_of(const ChannelTimes& times) {
  const auto median = [](const Summary& s) { return Duration::from_seconds(s.median); };
  return {.message = times.message,
          .exchange = median(times.exchange),
          .copy = median(times.copy),
          .copy_own = median(times.copy_own),
          .reduce = median(times.reduce),
          .reduce_sent = median(times.reduce_sent),
          .relay = median(times.relay)};
}

std::optional<core::Error> add_channel(Measuring& m) {
  const ChannelPlan plan{m.pair,
                         messages_for(m.host, m.plan),
                         {m.plan.is_quick ? 7 : 15, Duration::from_us(m.plan.is_quick ? 100 : 300),
                          Duration::from_ms(m.plan.is_quick ? 700 : 2500)}};
  const auto channel = time_channel(plan);
  if (!channel) return channel.error();
  m.out.context.preemptions += channel->preemptions;
  for (std::size_t i = 0; i < channel->times.size(); ++i) {
    const ChannelTimes& times = channel->times[i];
    m.out.transfers.push_back(cost_of(times));
    const std::string level = level_of(m.host, times.message);
    const bool is_last_of_level =
        i + 1 == channel->times.size() || level_of(m.host, channel->times[i + 1].message) != level;
    if (is_last_of_level) add_channel_links(m, times, level);
  }
  return std::nullopt;
}

// Beyond every cache: four times the L3 over all CPUs, at least 16 MiB each, an eighth of the
// memory in all.
Bytes array_for(const HostTopology& host, std::size_t cpus, bool is_quick) {
  const double l3 = cache_bytes(host, 3, kAssumedL3);
  const double all = std::max(l3 * (is_quick ? 2 : 4), 64.0 * (1 << 20));
  double array = std::max(all / static_cast<double>(cpus), 16.0 * (1 << 20));
  if (host.memory) array = std::min(array, host.memory->count() / 16 / static_cast<double>(cpus));
  return Bytes::of(std::floor(array / 4096) * 4096);
}

void add_memory_links(Measuring& m, const MemoryTimes& times, const MemoryPlan& plan) {
  const auto cpus = static_cast<double>(plan.cpus.size());
  const std::string who = plan.cpus.size() == 1 ? fmt::format("CPU {}", plan.cpus.front())
                                                : fmt::format("{} CPUs", plan.cpus.size());
  const auto link = [&](const char* what, const Summary& seconds) {
    m.out.links.push_back(
        {fmt::format("{} {}", who, what),
         LinkKind::kMemory,
         {},
         measured_rate(plan.array.count() * cpus, seconds.median, "bytes of the array per second"),
         "memory",
         plan.array,
         seconds});
  };
  link("read", times.read);
  link("write", times.write);
  link("copy", times.copy);
}

std::optional<core::Error> add_memory(Measuring& m, std::vector<int> cpus) {
  const MemoryPlan plan{cpus, array_for(m.host, cpus.size(), m.plan.is_quick),
                        m.plan.is_quick ? 3 : 9, Duration::from_ms(m.plan.is_quick ? 200 : 700)};
  const auto times = time_memory(plan);
  if (!times) return times.error();
  m.out.context.preemptions += times->preemptions;
  add_memory_links(m, *times, plan);
  return std::nullopt;
}

void add_tcp(Measuring& m) {
  const auto times = time_tcp(m.pair, m.plan.is_quick);
  if (!times) {
    m.out.caveats.push_back(core::make_caveat("link.tcp-unmeasured", times.error().one_line(),
                                              "loopback tcp has no figures"));
    return;
  }
  const std::string name = "127.0.0.1 " + pair_name(m.pair);
  const double bytes = times->bytes.count();
  m.out.links.push_back({name, LinkKind::kTcp,
                         measured_time(times->ping.median, "half a ping-pong of one byte"),
                         measured_rate(bytes, times->stream.median, "stream one way"), "one way",
                         times->bytes, times->stream});
  m.out.links.push_back({name,
                         LinkKind::kTcp,
                         {},
                         measured_rate(bytes, times->duplex.median, "stream both ways, per way"),
                         "both ways",
                         times->bytes,
                         times->duplex});
}

std::optional<core::Error> measure_all(Measuring& m, const Progress& progress) {
  progress("link: latency of shared memory");
  if (auto error = add_latencies(m)) return error;
  progress("link: copy and reduction by working set");
  if (auto error = add_channel(m)) return error;
  if (m.plan.with_memory) {
    progress("link: memory");
    if (auto error = add_memory(m, {m.pair[0]})) return error;
    if (m.host.allowed.size() > 1)
      if (auto error = add_memory(m, m.host.allowed)) return error;
  }
  if (m.plan.with_tcp) {
    progress("link: loopback tcp");
    add_tcp(m);
  }
  const auto flag = measure_flag(m.pair);
  if (!flag) return flag.error();
  m.out.context.alpha_after = *flag;
  return std::nullopt;
}

}  // namespace

const char* link_kind_name(LinkKind kind) {
  switch (kind) {
    case LinkKind::kFlag:
      return "flag";
    case LinkKind::kWake:
      return "wake";
    case LinkKind::kCopy:
      return "copy";
    case LinkKind::kExchange:
      return "exchange";
    case LinkKind::kReduce:
      return "reduce";
    case LinkKind::kRelay:
      return "relay";
    case LinkKind::kMemory:
      return "memory";
    case LinkKind::kTcp:
      return "tcp";
  }
  return "?";
}

const HostLink* HostLinks::find(LinkKind kind, const std::string& level) const {
  for (const HostLink& link : links)
    if (link.kind == kind && (level.empty() || link.level == level)) return &link;
  return nullptr;
}

std::vector<int> chosen_pair(const HostTopology& host) {
  const std::vector<int>& cpus = host.allowed.empty() ? host.cpus : host.allowed;
  if (cpus.empty()) return {0, 0};
  const topology::Cache* l1 = host.cache(1);
  for (std::size_t i = 1; i < cpus.size(); ++i)
    if (l1 == nullptr || std::find(l1->cpus.begin(), l1->cpus.end(), cpus[i]) == l1->cpus.end())
      return {cpus[0], cpus[i]};
  return {cpus.front(), cpus.size() > 1 ? cpus[1] : cpus.front()};
}

std::string level_of(const HostTopology& host, Bytes w) {
  const double bytes = w.count();
  if (3 * bytes <= cache_bytes(host, 1, kAssumedL1)) return "L1";
  if (3 * bytes <= cache_bytes(host, 2, kAssumedL2)) return "L2";
  if (4 * bytes <= cache_bytes(host, 3, kAssumedL3)) return "L3";
  return "memory";
}

core::Result<HostLinks> measure_host_links(const HostTopology& host, const LinkPlan& plan,
                                           const Progress& progress) {
  const core::Host machine = core::Host::real();
  HostLinks links;
  links.context.processor = host.processor.model_name;
  links.context.governor = host.processor.governor;
  links.context.cpus = chosen_pair(host);
  links.context.load = load_average(machine);
  const double start = now_seconds();
  const double stolen = stolen_seconds(machine);
  Measuring measuring{host, plan, links.context.cpus, links};
  if (const auto error = measure_all(measuring, progress)) return *error;
  links.context.stolen_seconds = stolen_seconds(machine) - stolen;
  links.context.took = Duration::from_seconds(now_seconds() - start);
  return links;
}

}  // namespace comm_probe::measure

#include "measure/link/crew.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>
#include <set>

#include "measure/clock.h"

namespace comm_probe::measure {

struct CrewControl {
  std::array<Flag, Member::kFlags> flags = {};
  Flag meetings = {};
  int members = 0;
  std::atomic<bool> goes_on = true;
  bool is_crowded = false;  // more members than CPUs: waiting gives the CPU away
  std::atomic<int> recorded = 0;
  std::atomic<std::int64_t> preemptions = 0;
  std::array<CrewRecord, Member::kMostRecords> records = {};
};

namespace {

class Mapping {
 public:
  explicit Mapping(std::size_t bytes)
      : bytes_(bytes),
        data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~Mapping() {
    if (ok()) ::munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  bool ok() const { return data_ != MAP_FAILED; }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof(set), &set);  // a refusal leaves the member unbound
}

[[noreturn]] void be_member(const CrewPlan& plan, Member member,
                            const std::function<void(Member&)>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, SIG_DFL);  // not the caller's
  ::alarm(static_cast<unsigned>(plan.deadline_seconds));
  bind_to(plan.cpus[static_cast<std::size_t>(member.index())]);
  member.meet();
  const std::int64_t before = preemptions_so_far();
  body(member);
  member.add_preemptions(preemptions_so_far() - before);
  ::_exit(0);
}

void end_all(const std::vector<pid_t>& members) {
  for (const pid_t pid : members) ::kill(pid, SIGKILL);
}

core::Error member_failed(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return core::missing_error("measuring processes did not finish in time",
                               "is the machine overloaded, or is one of them stopped?");
  return core::missing_error(
      WIFSIGNALED(status)
          ? fmt::format("a measuring process was ended by signal {}", WTERMSIG(status))
          : fmt::format("a measuring process ended with status {}", WEXITSTATUS(status)),
      "is there enough memory? /dev/shm and cgroup limits count");
}

// Waits for every member; the first failure ends the others.
std::optional<core::Error> wait_for(const std::vector<pid_t>& members) {
  if (members.empty()) return std::nullopt;
  std::optional<core::Error> failure;
  for (std::size_t left = members.size(); left > 0; --left) {
    int status = 0;
    pid_t ended = -1;
    while ((ended = ::waitpid(-members.front(), &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended < 0) break;
    if (status == 0 || failure) continue;
    failure = member_failed(status);
    end_all(members);
  }
  return failure;
}

}  // namespace

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::vector<double> CrewRecords::of(int member, int series) const {
  std::vector<double> values;
  for (const CrewRecord& record : records)
    if (record.member == member && record.series == series) values.push_back(record.value);
  return values;
}

Member::Member(CrewControl& control, std::byte* payload, int index)
    : control_(control), payload_(payload), index_(index), started_(now_seconds()) {}

int Member::size() const { return control_.members; }
Flag& Member::flag(int number) const { return control_.flags[static_cast<std::size_t>(number)]; }

void Member::await(const Flag& flag, std::uint32_t value) const {
  while (static_cast<std::int32_t>(flag.value.load(std::memory_order_acquire) - value) < 0) {
    if (control_.is_crowded)
      ::sched_yield();
    else
      pause_core();
  }
}

void Member::meet() {
  ++meetings_;
  control_.meetings.value.fetch_add(1, std::memory_order_acq_rel);
  await(control_.meetings, meetings_ * static_cast<std::uint32_t>(control_.members));
}

bool Member::wants_more(int blocks_done, double budget) {
  constexpr int kFewest = 3;
  meet();  // nobody still reads the answer before
  if (index_ == 0)
    control_.goes_on.store(blocks_done < kFewest || now_seconds() - started_ < budget);
  meet();
  return control_.goes_on.load();
}

void Member::record(int series, double value) {
  const int at = control_.recorded.fetch_add(1);
  if (at < kMostRecords) control_.records[static_cast<std::size_t>(at)] = {index_, series, value};
}

void Member::add_preemptions(std::int64_t count) { control_.preemptions.fetch_add(count); }

core::Result<CrewRecords> run_crew(const CrewPlan& plan, const std::function<void(Member&)>& body) {
  const std::size_t head = (sizeof(CrewControl) + 4095) / 4096 * 4096;
  const Mapping mapping(head + plan.shared_bytes);
  if (!mapping.ok())
    return core::missing_error(fmt::format("cannot map {} bytes of shared memory: {}",
                                           head + plan.shared_bytes, std::strerror(errno)));
  auto* control = new (mapping.data()) CrewControl;
  control->members = static_cast<int>(plan.cpus.size());
  control->is_crowded = std::set(plan.cpus.begin(), plan.cpus.end()).size() < plan.cpus.size();
  std::vector<pid_t> members;
  for (int i = 0; i < control->members; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) be_member(plan, Member(*control, mapping.data() + head, i), body);
    if (pid < 0) {
      end_all(members);
      wait_for(members);
      return core::missing_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
    }
    ::setpgid(pid, members.empty() ? pid : members.front());
    members.push_back(pid);
  }
  if (const auto failure = wait_for(members)) return *failure;
  CrewRecords records;
  const int count = std::min(control->recorded.load(), Member::kMostRecords);
  records.records.assign(control->records.begin(), control->records.begin() + count);
  records.preemptions = control->preemptions.load();
  return records;
}

}  // namespace comm_probe::measure

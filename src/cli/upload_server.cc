#include "cli/upload_server.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <utility>

#include "cli/doctor_process.h"
#include "cli/http_session.h"
#include "core/host_name.h"

namespace comm_probe::cli {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMostPages = 256;
constexpr std::uintmax_t kMostOfPages = std::uintmax_t{1} << 30U;  // bytes
constexpr int kMostSessions = 512;
constexpr int kBacklog = 256;

core::Error cannot_listen(const ServerSettings& settings, const error_code& error) {
  if (error == asio::error::invalid_argument)
    return core::input_error(fmt::format("--bind '{}' is no address", settings.bind),
                             "expected one like 127.0.0.1, 0.0.0.0 or ::1");
  const bool is_taken = error == asio::error::address_in_use;
  return core::missing_error(
      fmt::format("cannot listen on {} port {}: {}", settings.bind, settings.port, error.message()),
      is_taken ? "expected a free port; --port 0 takes any" : "");
}

std::string host_of(const tcp::endpoint& place) {
  if (place.address().is_unspecified()) return core::host_name(core::Host::real());
  const std::string text = place.address().to_string();
  return place.address().is_v6() ? "[" + text + "]" : text;
}

}  // namespace

std::string random_word() {
  std::array<unsigned char, 16> bytes = {};
  const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
  COMM_PROBE_CHECK(got == static_cast<ssize_t>(bytes.size()), "the kernel gives random bytes");
  std::string word;
  for (const unsigned char byte : bytes) word += fmt::format("{:02x}", byte);
  return word;
}

// Accepts connections, keeps the pages; a session asks it for everything that outlives a request.
struct UploadServer::State : SessionHome {
  struct Page {
    std::string id = {};
    std::uintmax_t size = 0;
  };

  explicit State(ServerSettings given)
      : settings(std::move(given)),
        doctors(context, settings.patience),
        all_uploads{settings.total} {}

  const ServerSettings& of_server() const override { return settings; }
  std::string_view machine() const override { return machine_name; }
  std::string new_folder() override { return settings.folder + "/" + random_word(); }
  void examine(const std::string& folder, Doctors::Done done) override {
    doctors.examine(folder, std::move(done));
  }
  void give_up(const std::string& folder) override { doctors.give_up(folder); }
  UploadRoom& room() override { return all_uploads; }
  std::string keep_page(const std::string& folder) override;
  std::string page_file(std::string_view id) const override;
  void opened() override { ++sessions; }
  void closed() override { --sessions; }
  bool is_crowded() const override { return sessions > kMostSessions; }

  error_code open();
  void accept();

  ServerSettings settings;
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  Doctors doctors;
  UploadRoom all_uploads;
  std::string address = {};
  std::string machine_name = {};
  std::deque<Page> pages = {};  // the oldest first
  std::uintmax_t kept = 0;      // bytes of them
  int sessions = 0;
  int signal = 0;
};

// The name of its folder is the id. The oldest pages make room, never the new one.
std::string UploadServer::State::keep_page(const std::string& folder) {
  std::error_code ignored;
  const std::uintmax_t size = fs::file_size(folder + "/" + Doctors::kPage, ignored);
  pages.push_back({fs::path(folder).filename().string(), ignored ? 0 : size});
  kept += pages.back().size;
  while (pages.size() > 1 && (pages.size() > kMostPages || kept > kMostOfPages)) {
    kept -= pages.front().size;
    fs::remove_all(settings.folder + "/" + pages.front().id, ignored);
    pages.pop_front();
  }
  return pages.back().id;
}

std::string UploadServer::State::page_file(std::string_view id) const {
  for (const Page& page : pages)
    if (page.id == id) return settings.folder + "/" + page.id + "/" + Doctors::kPage;
  return {};
}

error_code UploadServer::State::open() {
  error_code error;
  const auto address_given = asio::ip::make_address(settings.bind, error);
  if (error) return error;
  const tcp::endpoint place(address_given, static_cast<std::uint16_t>(settings.port));
  acceptor.open(place.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(place, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error) return error;
  const tcp::endpoint bound = acceptor.local_endpoint(error);
  machine_name = place.address().is_loopback() ? "" : core::host_name(core::Host::real());
  address = fmt::format("http://{}:{}/", host_of(bound), bound.port());
  if (!settings.token.empty()) address += settings.token + "/";
  return error;
}

void UploadServer::State::accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) begin_session(std::move(socket), *this);
    accept();
  });
}

core::Result<UploadServer> UploadServer::listen(ServerSettings settings) {
  auto state = std::make_unique<State>(std::move(settings));
  if (const error_code error = state->open()) return cannot_listen(state->settings, error);
  return UploadServer(std::move(state));
}

UploadServer::UploadServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
UploadServer::UploadServer(UploadServer&&) noexcept = default;
UploadServer::~UploadServer() = default;

const std::string& UploadServer::address() const { return state_->address; }

int UploadServer::port() const { return state_->acceptor.local_endpoint().port(); }

int UploadServer::run() {
  asio::signal_set signals(state_->context, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([this](error_code error, int signal) {
    if (error) return;
    state_->signal = signal;
    state_->context.stop();
  });
  state_->accept();
  state_->context.run();
  return state_->signal;
}

}  // namespace comm_probe::cli

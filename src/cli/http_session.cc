#include "cli/http_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/file_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/multipart.h"
#include "cli/request_guard.h"
#include "cli/upload.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBlock = 65536;
constexpr std::uint32_t kLongestHeader = 16384;
constexpr std::chrono::seconds kHeaderTime(15);  // for all of it, not for each byte
constexpr std::chrono::seconds kDrainTime(10);
constexpr std::chrono::seconds kShortDrain(1);   // of one that has sent no body
constexpr std::chrono::minutes kAnswerTime(10);  // a page may be large, and the way to it slow
constexpr std::chrono::hours kLongestUpload(1);
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

bool is_word(std::string_view text, std::string_view word) {
  return beast::iequals({text.data(), text.size()}, {word.data(), word.size()});
}

std::chrono::milliseconds milliseconds(core::Duration time) {
  return std::chrono::milliseconds(static_cast<long>(time.in_ms()));
}

// The browser is to keep nothing, guess nothing, tell nobody and show it in no frame.
void add_headers(http::fields& fields) {
  fields.set(http::field::connection, "close");
  fields.set(http::field::cache_control, "no-store");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("X-Frame-Options", "DENY");
  fields.set("Referrer-Policy", "no-referrer");
  fields.set("Cross-Origin-Resource-Policy", "same-origin");
  fields.set("Cross-Origin-Opener-Policy", "same-origin");
}

// Which answer a request gets that the library could not read.
Refusal refusal_of(const error_code& error, core::Bytes limit) {
  if (error == http::error::body_limit)
    return {413, fmt::format("the upload is larger than {}; start serve with a larger --limit, or "
                             "name the files to comm-probe doctor",
                             core::format_bytes(limit))};
  if (error == http::error::header_limit)
    return {431, fmt::format("the header of the request is longer than {} bytes", kLongestHeader)};
  return {400, "malformed request: " + error.message()};
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::ip::tcp::socket socket, SessionHome& home)
      : stream_(std::move(socket)), timer_(stream_.get_executor()), home_(home) {
    home_.opened();
    parser_.header_limit(kLongestHeader);
    parser_.body_limit(settings().limit.whole());
  }
  ~Session() { leave(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void begin() {
    if (home_.is_crowded()) return refuse({503, "too many connections at once; try again"});
    give_time(std::min<Clock::duration>(kHeaderTime, milliseconds(settings().idle)));
    http::async_read_header(
        stream_, buffer_, parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_header(error); });
  }

 private:
  const ServerSettings& settings() const { return home_.of_server(); }
  std::string_view header(http::field name) const { return view(parser_.get()[name]); }
  std::optional<std::string_view> optional_header(beast::string_view name) const {
    const auto found = parser_.get().find(name);
    if (found == parser_.get().end()) return std::nullopt;
    return view(found->value());
  }

  // Counted no more: one that was refused does not keep others out.
  void leave() {
    if (is_counted_) home_.closed();
    is_counted_ = false;
  }
  void give_time(Clock::duration time);
  bool is_gone(const error_code& error);
  void on_header(const error_code& error);
  Refused stranger() const;
  std::optional<std::string_view> path() const;
  void route(std::string_view path);
  void answer_get(std::string_view path);
  void answer_page(std::string_view id);

  void begin_upload();
  void allow_body();
  void read_body();
  void on_body(const error_code& error);
  void finish_upload();
  void watch_client();
  void on_verdict(const Verdict& verdict);
  void tell(const Verdict& verdict) const;

  void refuse(const Refusal& refusal);
  void answer(http::status status, std::string_view type, std::string text);
  template <class Body>
  void send(http::response<Body> response);
  void finish();
  void drain();

  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  SessionHome& home_;
  beast::flat_buffer buffer_{kBlock};
  http::request_parser<http::buffer_body> parser_ = {};
  std::vector<char> block_ = {};
  std::unique_ptr<Upload> upload_ = {};
  std::optional<MultipartReader> reader_ = {};
  Clock::time_point end_ = Clock::now() + kLongestUpload;
  bool is_late_ = false;
  bool is_counted_ = true;
  bool is_examined_ = false;  // doctor reads the files
};

// For the operation that begins now: it ends with is_late_ when the time is over.
void Session::give_time(Clock::duration time) {
  is_late_ = false;
  timer_.expires_after(std::min(time, end_ - Clock::now()));
  timer_.async_wait([weak = weak_from_this()](error_code cancelled) {
    const auto self = weak.lock();
    if (cancelled || !self) return;
    self->is_late_ = true;
    self->stream_.cancel();
  });
}

// Nobody is there to be answered.
bool Session::is_gone(const error_code& error) {
  return error == http::error::end_of_stream || error == asio::error::connection_reset ||
         error == asio::error::broken_pipe ||
         (error == asio::error::operation_aborted && !is_late_);
}

void Session::on_header(const error_code& error) {
  if (is_gone(error)) return;
  if (is_late_) return refuse({408, "the header of the request did not come in time"});
  if (error) return refuse(refusal_of(error, settings().limit));
  if (const Refused refused = stranger()) return refuse(*refused);
  const auto where = path();
  if (!where)
    return refuse({404, "nothing is here; open the address that comm-probe serve printed"});
  route(*where);
}

Refused Session::stranger() const {
  const std::string_view host = header(http::field::host);
  if (!is_our_name(host, home_.machine()))
    return Refusal{403,
                   "the name in the address is not one of this machine; open the address that "
                   "comm-probe serve printed"};
  const bool is_read = parser_.get().method() == http::verb::get;
  if (!is_read && !is_our_page({.host = host,
                                .origin = optional_header("Origin"),
                                .fetch_site = optional_header("Sec-Fetch-Site")}))
    return Refusal{403, "sent by a page from elsewhere; only the page of comm-probe serve may"};
  return std::nullopt;
}

// Behind the token, without what follows '?'; nothing where the token is not there.
std::optional<std::string_view> Session::path() const {
  std::string_view target = view(parser_.get().target());
  target = target.substr(0, target.find('?'));
  if (settings().token.empty()) return target;
  if (!target.starts_with("/" + settings().token + "/")) return std::nullopt;
  return target.substr(settings().token.size() + 1);
}

void Session::route(std::string_view path) {
  const http::verb method = parser_.get().method();
  if (method == http::verb::get) return answer_get(path);
  if (method != http::verb::post) return refuse({405, "expected GET or POST"});
  if (path != "/doctor") return refuse({404, "nothing takes files here; expected POST /doctor"});
  begin_upload();
}

void Session::answer_get(std::string_view path) {
  constexpr std::string_view kPages = "/page/";
  if (path == "/") return answer(http::status::ok, "text/html; charset=utf-8", settings().page);
  if (path.starts_with(kPages)) return answer_page(path.substr(kPages.size()));
  refuse({404, "nothing is here; expected / or /page/ID"});
}

void Session::answer_page(std::string_view id) {
  http::response<http::file_body> response{http::status::ok, 11};
  const std::string file = home_.page_file(id);
  error_code error;
  if (!file.empty()) response.body().open(file.c_str(), beast::file_mode::scan, error);
  if (file.empty() || error)
    return refuse({404, "no such page (any more); the last pages are kept until serve ends"});
  response.set(http::field::content_type, "text/html; charset=utf-8");
  send(std::move(response));
}

void Session::begin_upload() {
  const std::string_view type = header(http::field::content_type);
  if (!is_word(type.substr(0, type.find(';')), "multipart/form-data"))
    return refuse({415, "expected files as multipart/form-data, as curl -F file=@nccl.log sends"});
  const auto boundary = boundary_of(type);
  if (!boundary) return refuse({400, "malformed multipart/form-data: no boundary in the header"});
  const auto length = parser_.content_length();
  if (length && *length <= settings().limit.whole() &&
      !home_.room().has(core::Bytes::of(std::uint64_t{*length})))
    return refuse(home_.room().refusal());
  upload_ = std::make_unique<Upload>(home_.new_folder(), home_.room());
  reader_.emplace(*boundary, *upload_);
  block_.resize(kBlock);
  if (parser_.is_done()) return finish_upload();  // there is no body
  is_word(header(http::field::expect), "100-continue") ? allow_body() : read_body();
}

// curl asks before it sends something large.
void Session::allow_body() {
  give_time(milliseconds(settings().idle));
  asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                    [self = shared_from_this()](error_code error, std::size_t) {
                      if (!error) self->read_body();
                    });
}

void Session::read_body() {
  auto& body = parser_.get().body();
  body.data = block_.data();
  body.size = block_.size();
  give_time(milliseconds(settings().idle));
  http::async_read_some(
      stream_, buffer_, parser_,
      [self = shared_from_this()](error_code error, std::size_t) { self->on_body(error); });
}

void Session::on_body(const error_code& error) {
  if (is_late_) return refuse({408, "the upload did not go on in time (--idle)"});
  if (error == asio::error::eof || is_gone(error)) return;
  if (error && error != http::error::need_buffer)
    return refuse(refusal_of(error, settings().limit));
  const std::size_t got = block_.size() - parser_.get().body().size;
  if (const Refused refused = reader_->feed({block_.data(), got})) return refuse(*refused);
  parser_.is_done() ? finish_upload() : read_body();
}

void Session::finish_upload() {
  timer_.cancel();
  if (const Refused refused = reader_->finish()) return refuse(*refused);
  if (upload_->files() == 0) return refuse({400, "the upload holds no file"});
  is_examined_ = true;
  watch_client();
  home_.examine(upload_->folder(),
                [self = shared_from_this()](const Verdict& verdict) { self->on_verdict(verdict); });
}

// One that closes its side while doctor reads does not wait for the answer. What else it sends is
// passed over.
void Session::watch_client() {
  stream_.expires_never();
  stream_.async_read_some(asio::buffer(block_),
                          [weak = weak_from_this()](error_code error, std::size_t) {
                            const auto self = weak.lock();
                            if (!self || !self->is_examined_) return;
                            if (!error) return self->watch_client();
                            self->home_.give_up(std::string(self->upload_->folder()));
                          });
}

void Session::on_verdict(const Verdict& verdict) {
  is_examined_ = false;
  stream_.cancel();  // the watch over the client
  tell(verdict);
  end_ = Clock::now() + kLongestUpload;
  if (verdict.refused) return refuse(*verdict.refused);
  upload_->remove_files();
  upload_->keep();
  http::response<http::string_body> response{http::status::see_other, 11};
  const std::string& token = settings().token;
  response.set(http::field::location, fmt::format("{}/page/{}", token.empty() ? "" : "/" + token,
                                                  home_.keep_page(upload_->folder())));
  send(std::move(response));
}

void Session::tell(const Verdict& verdict) const {
  if (!settings().tell) return;
  const std::string end = verdict.refused
                              ? verdict.refused->text
                              : fmt::format("doctor's exit status is {}", verdict.exit_status);
  settings().tell(fmt::format("{} file{}, {}: {}", upload_->files(),
                              upload_->files() == 1 ? "" : "s",
                              core::format_bytes(upload_->bytes()), end));
}

void Session::refuse(const Refusal& refusal) {
  upload_.reset();
  answer(static_cast<http::status>(refusal.status), "text/plain; charset=utf-8",
         "comm-probe: " + refusal.text + "\n");
}

void Session::answer(http::status status, std::string_view type, std::string text) {
  http::response<http::string_body> response{status, 11};
  response.set(http::field::content_type, beast::string_view(type.data(), type.size()));
  response.body() = std::move(text);
  send(std::move(response));
}

template <class Body>
void Session::send(http::response<Body> response) {
  add_headers(response);
  response.prepare_payload();
  const auto kept = std::make_shared<http::response<Body>>(std::move(response));
  give_time(kAnswerTime);
  http::async_write(stream_, *kept,
                    [self = shared_from_this(), kept](error_code error, std::size_t) {
                      if (!error) self->finish();
                    });
}

// A client that is still sending would lose the answer if the connection ended now.
void Session::finish() {
  error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  leave();
  end_ = std::min(end_, Clock::now() + (block_.empty() ? kShortDrain : kDrainTime));
  block_.resize(kBlock);
  drain();
}

void Session::drain() {
  if (Clock::now() >= end_) return;
  give_time(kDrainTime);
  stream_.async_read_some(asio::buffer(block_),
                          [self = shared_from_this()](error_code error, std::size_t) {
                            if (!error) self->drain();
                          });
}

}  // namespace

void begin_session(asio::ip::tcp::socket socket, SessionHome& home) {
  std::make_shared<Session>(std::move(socket), home)->begin();
}

}  // namespace comm_probe::cli

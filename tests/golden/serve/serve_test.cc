// `serve` as a browser, a script and somebody hostile meet it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "report/page.h"
#include "run_binary.h"
#include "running_server.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kSource = COMM_PROBE_SOURCE_DIR;

std::string content_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// The files of a folder, by their name in it.
std::vector<FormFile> pile(const std::string& folder) {
  std::vector<FormFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files.push_back(
          {fs::relative(entry.path(), folder).string(), content_of(entry.path().string())});
  return files;
}

const FormFile& small_table() {
  static const FormFile table = {"all_reduce.txt",
                                 content_of(kSource + "/tests/inputs/h200x2/all_reduce.txt")};
  return table;
}

json document_of(const Answer& page) {
  const auto document = report::document_of_page(page.body);
  return document ? json::parse(*document, nullptr, false) : json();
}

// What doctor says of an upload.
json verdict_of(int port, const std::vector<FormFile>& files) {
  const Answer answer = post(port, files);
  EXPECT_EQ(answer.status, 303) << answer.head << answer.body;
  return document_of(get(port, answer.header("Location")));
}

std::vector<std::string> ids(const json& document) {
  std::vector<std::string> all;
  for (const json& finding : document.at("findings")) all.push_back(finding.at("id"));
  return all;
}

TEST(Serve, GivesThePageToDropFilesOn) {
  const RunningServer server;
  EXPECT_EQ(server.address(), fmt::format("http://127.0.0.1:{}/", server.port()));
  const Answer page = get(server.port(), "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.header("X-Frame-Options"), "DENY");
  EXPECT_EQ(page.header("Cache-Control"), "no-store");
  EXPECT_THAT(page.body, HasSubstr("\"limit_bytes\":1073741824"));
  EXPECT_THAT(page.body, Not(HasSubstr("@program@")));
}

TEST(Serve, SaysWhatDoctorSaysOfTheSameFiles) {
  const RunningServer server;
  for (const char* folder :
       {"/examples/two-nodes-slow", "/examples/hang-step-3000", "/tests/inputs/h200x2/hang/dead"}) {
    const json page = verdict_of(server.port(), pile(kSource + folder));
    const json told = json::parse(run_binary({"doctor", "--json", kSource + folder}).out);
    ASSERT_TRUE(page.is_object()) << folder;
    EXPECT_EQ(page.at("command"), "doctor");
    EXPECT_EQ(ids(page), ids(told)) << folder;
    EXPECT_FALSE(ids(page).empty()) << folder;
    EXPECT_EQ(page.at("inputs").size(), told.at("inputs").size()) << folder;
    EXPECT_THAT(page.at("inputs").at(0).at("path").get<std::string>(),
                testing::StartsWith("upload/"));
  }
}

TEST(Serve, KeepsThePageAndNotTheFiles) {
  const RunningServer server;
  const Answer answer = post(server.port(), {small_table()});
  const std::string place = answer.header("Location");
  EXPECT_EQ(get(server.port(), place).status, 200);
  EXPECT_EQ(get(server.port(), place).body, get(server.port(), place).body);
  for (const auto& entry : fs::recursive_directory_iterator(server.temporary_folder()))
    EXPECT_NE(entry.path().filename(), "all_reduce.txt") << entry.path();
  for (const char* other : {"/page/", "/page/..", "/page/0123456789abcdef0123456789abcdef",
                            "/page/../../../etc/passwd", "/page/%2e%2e/%2e%2e", "/nothing"})
    EXPECT_EQ(get(server.port(), other).status, 404) << other;
}

TEST(Serve, EndsCleanly) {
  for (const int signal : {SIGINT, SIGTERM}) {
    RunningServer server;
    EXPECT_EQ(post(server.port(), {small_table()}).status, 303);
    const Client waiting(server.port());
    waiting.send("POST /doctor HTTP/1.1\r\n");
    EXPECT_EQ(server.stop(signal), 0);
    EXPECT_TRUE(fs::is_empty(server.temporary_folder()));
  }
}

TEST(Serve, LeavesNothingBehindWhenKilled) {
  RunningServer server;
  EXPECT_EQ(post(server.port(), {small_table()}).status, 303);
  server.stop(SIGKILL);
  for (int i = 0; i < 400 && !fs::is_empty(server.temporary_folder()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(fs::is_empty(server.temporary_folder()));
}

TEST(Serve, RefusesWhatIsTooLarge) {
  const RunningServer server({"--limit", "64KiB"});
  const std::string large(100000, 'x');
  const Answer announced = post(server.port(), {{"large.log", large}});
  EXPECT_EQ(announced.status, 413);
  EXPECT_THAT(announced.body, HasSubstr("larger than 64 KiB")) << announced.body;
  const Client chunked(server.port());
  chunked.send(
      "POST /doctor HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
      "Content-Type: multipart/form-data; boundary=xyz\r\n\r\n");
  for (int i = 0; i < 20; ++i) chunked.send("2710\r\n" + large.substr(0, 10000) + "\r\n");
  EXPECT_EQ(parse_answer(chunked.rest()).status, 413);
  EXPECT_EQ(post(server.port(), {small_table()}).status, 303);
}

TEST(Serve, RefusesWhatIsMalformed) {
  const RunningServer server;
  const int port = server.port();
  const std::string host = "Host: localhost\r\n";
  const std::string form = "Content-Type: multipart/form-data; boundary=xyz\r\n";
  const auto with = [&](const std::string& headers, const std::string& body) {
    return fmt::format("POST /doctor HTTP/1.1\r\n{}{}Content-Length: {}\r\n\r\n{}", host, headers,
                       body.size(), body);
  };
  const std::tuple<std::string, int, const char*> requests[] = {
      {with(form, "no form"), 400, "no boundary in the body"},
      {with(form, ""), 400, "no boundary in the body"},
      {with(form, "--xyz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\ncut"),
       400, "ends within a part"},
      {with(form, "--xyz\r\n\r\n\r\n"), 400, "without Content-Disposition"},
      {with(form, "--xyz--\r\n"), 400, "holds no file"},
      {with(form, form_of({{"", ""}})), 400, "holds no file"},
      {with("Content-Type: multipart/form-data\r\n", "x"), 400, "no boundary in the header"},
      {with("Content-Type: application/json\r\n", "{}"), 415, "expected files as multipart"},
      {with("", "x"), 415, "expected files as multipart"},
      {"\x16\x03\x01\x02 this is TLS\r\n\r\n", 400, "malformed request"},
      {"GET / HTTP/1.1\r\n" + host + "X: " + std::string(40000, 'x') + "\r\n\r\n", 431, "longer"},
      {"PUT / HTTP/1.1\r\n" + host + "\r\n", 405, "expected GET or POST"},
      {"POST /elsewhere HTTP/1.1\r\n" + host + "\r\n", 404, "expected POST /doctor"},
      {"GET / HTTP/1.1\r\n\r\n", 403, "the name in the address"}};
  for (const auto& [request, status, text] : requests) {
    const Answer answer = ask(port, request);
    EXPECT_EQ(answer.status, status) << request.substr(0, 200);
    EXPECT_THAT(answer.body, HasSubstr(text)) << request.substr(0, 200);
    EXPECT_THAT(answer.body, testing::StartsWith("comm-probe: "));
    EXPECT_EQ(lines_of(answer.body).size(), 1U) << answer.body;
  }
  EXPECT_EQ(post(port, {small_table()}).status, 303);
}

TEST(Serve, SaysWhyDoctorTookNothing) {
  const RunningServer server;
  const Answer answer = post(server.port(), {{"picture.png", "\x89PNG\r\n\x1a\n\x07\x07\x07\x07"}});
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.body, HasSubstr("upload/picture.png")) << answer.body;
  EXPECT_EQ(lines_of(answer.body).size(), 1U) << answer.body;
}

TEST(Serve, EndsADoctorThatTakesTooLong) {
  const RunningServer server({"--patience", "1ms"});
  const Answer answer = post(server.port(), {small_table()});
  EXPECT_EQ(answer.status, 504);
  EXPECT_THAT(answer.body, HasSubstr("--patience")) << answer.body;
}

TEST(Serve, KeepsUploadsBelowItsFolder) {
  const RunningServer server;
  const json page = verdict_of(server.port(), {{"../../../escaped.txt", small_table().content},
                                               {"/etc/other.txt", small_table().content}});
  EXPECT_EQ(page.at("inputs").at(0).at("path"), "upload/escaped.txt");
  EXPECT_EQ(page.at("inputs").at(1).at("path"), "upload/etc/other.txt");
  EXPECT_FALSE(fs::exists(server.temporary_folder() + "/escaped.txt"));
}

TEST(Serve, AnswersNoPageFromElsewhere) {
  const RunningServer server;
  const int port = server.port();
  const std::string own = fmt::format("Host: 127.0.0.1:{}\r\n", port);
  EXPECT_EQ(post(port, {small_table()}, "Host: evil.example\r\n").status, 403);
  EXPECT_EQ(post(port, {small_table()}, own + "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(post(port, {small_table()}, own + "Origin: null\r\n").status, 403);
  EXPECT_EQ(post(port, {small_table()}, own + "Sec-Fetch-Site: cross-site\r\n").status, 403);
  const std::string ours = fmt::format("Origin: http://127.0.0.1:{}\r\n", port);
  EXPECT_EQ(post(port, {small_table()}, own + ours + "Sec-Fetch-Site: same-origin\r\n").status,
            303);
  EXPECT_EQ(ask(port, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
  const Answer preflight =
      ask(port, "OPTIONS /doctor HTTP/1.1\r\n" + own + "Origin: http://evil.example\r\n\r\n");
  EXPECT_EQ(preflight.status, 403);
  EXPECT_EQ(preflight.header("Access-Control-Allow-Origin"), "");
}

TEST(Serve, AsksOthersForTheToken) {
  const RunningServer server({"--bind", "0.0.0.0"});
  const std::string address = server.address();
  const std::string path = address.substr(address.find('/', 7));
  ASSERT_EQ(path.size(), 34U) << address;
  EXPECT_EQ(get(server.port(), "/").status, 404);
  EXPECT_EQ(get(server.port(), "/0123456789abcdef0123456789abcdef/").status, 404);
  EXPECT_EQ(post(server.port(), {small_table()}).status, 404);
  EXPECT_EQ(get(server.port(), path).status, 200);
  std::string request = post_of(form_of({small_table()}));
  request.replace(request.find("/doctor"), 1, path);
  const Answer answer = ask(server.port(), request);
  EXPECT_EQ(answer.status, 303);
  EXPECT_EQ(get(server.port(), answer.header("Location")).status, 200);
}

TEST(Serve, RefusesWhereItCannotListen) {
  const RunningServer server;
  const BinaryRun taken = run_binary({"serve", "--port", std::to_string(server.port())});
  EXPECT_EQ(taken.status, 3) << taken;
  EXPECT_THAT(taken.err, HasSubstr("expected a free port")) << taken;
  EXPECT_THAT(taken.out, IsEmpty());
  for (const char* nonsense : {"localhost", "300.1.1.1", ""}) {
    const BinaryRun run = run_binary({"serve", "--bind", nonsense});
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  }
  EXPECT_EQ(run_binary({"serve", "--port", "70000"}).status, 2);
}

}  // namespace
}  // namespace comm_probe::test

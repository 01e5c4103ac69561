// `serve`: a page in the browser to drop files on, and doctor's page of them. Nothing leaves the
// machine.
#include <fmt/format.h>

#include <cstdio>

#include "cli/person_commands.h"
#include "cli/upload_server.h"
#include "core/folder_keeper.h"
#include "core/temporary_folder.h"
#include "core/units.h"
#include "report/page.h"

namespace comm_probe::cli {
namespace {

struct ServeRequest {
  int port = 8642;
  std::string bind = "127.0.0.1";
  core::Bytes limit = core::Bytes::of(std::uint64_t{1} << 30U);
  core::Bytes total = core::Bytes::of(std::uint64_t{8} << 30U);
  core::Duration patience = core::Duration::from_seconds(300);
  core::Duration idle = core::Duration::from_seconds(30);
};

bool is_loopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.");
}

core::Json facts_of_page(const ServeRequest& request) {
  return {{"version", report::kVersion},
          {"limit_bytes", core::json_bytes(request.limit)},
          {"is_loopback", is_loopback(request.bind)}};
}

ServerSettings settings_of(const Shell& shell, const ServeRequest& request,
                           const std::string& folder) {
  ServerSettings settings{.bind = request.bind,
                          .port = request.port,
                          .token = is_loopback(request.bind) ? "" : random_word(),
                          .limit = request.limit,
                          .total = request.total,
                          .patience = request.patience,
                          .idle = request.idle,
                          .folder = folder};
  report::write_drop_page(facts_of_page(request),
                          [&settings](std::string_view part) { settings.page += part; });
  if (shell.explain())
    settings.tell = [](const std::string& line) { fmt::print(stderr, "serve: {}\n", line); };
  return settings;
}

core::Document announcement(const ServeRequest& request, const UploadServer& server) {
  core::Document document{.command = "serve"};
  document.result = {{"address", server.address()},
                     {"port", server.port()},
                     {"limit_bytes", core::json_bytes(request.limit)}};
  document.verdict = fmt::format("open {} and drop files; Ctrl-C ends it", server.address());
  std::string who = is_loopback(request.bind)
                        ? "Only this machine can reach it."
                        : "Everybody who can reach this machine and knows this address, token "
                          "included, can send files; nothing is encrypted.";
  document.body.emplace_back(core::Paragraph{
      fmt::format("{} An upload may hold {}; its files are removed when doctor has read them, the "
                  "pages when this ends.",
                  who, core::format_bytes(request.limit))});
  return document;
}

// What would start a server that refuses everything.
std::optional<core::Error> refusal_of(const ServeRequest& request) {
  if (request.limit <= core::Bytes())
    return core::input_error("--limit 0 takes no upload", "expected a size like 1GiB");
  if (request.limit > request.total)
    return core::input_error(
        fmt::format("--limit {} is more than --total {}", core::format_bytes(request.limit),
                    core::format_bytes(request.total)),
        "--total holds all uploads of one time");
  if (request.idle <= core::Duration() || request.patience <= core::Duration())
    return core::input_error("--idle and --patience of 0 leave no time",
                             "expected a time like 30s");
  return std::nullopt;
}

int serve(const Shell& shell, const ServeRequest& request) {
  if (const auto refused = refusal_of(request)) return shell.fail(*refused);
  auto folder = core::TemporaryFolder::make("comm-probe-serve");
  if (!folder) return shell.fail(folder.error());
  const core::FolderKeeper keeper(folder->path());
  auto server = UploadServer::listen(settings_of(shell, request, folder->path()));
  if (!server) return shell.fail(server.error());
  if (const int status = shell.finish(announcement(request, *server)); status != 0) return status;
  server->run();
  return 0;
}

}  // namespace

void add_serve(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("serve", "drop files in the browser, get doctor's page of them")
          ->group("Compare");
  auto request = std::make_shared<ServeRequest>();
  app->add_option("--port", request->port, "to listen on; 0 takes any free one")
      ->check(CLI::Range(0, 65535))
      ->type_name("P");
  app->add_option("--bind", request->bind,
                  "the address to listen on; another than this machine's own (127.0.0.1) lets "
                  "others send files, and its URL holds a token")
      ->type_name("ADDRESS");
  add_bytes(*app, "--limit", request->limit, "the largest upload")->default_str("1GiB");
  add_bytes(*app, "--total", request->total, "what all uploads of one time may hold together")
      ->default_str("8GiB");
  add_duration(*app, "--patience", request->patience, "the longest run of doctor")
      ->default_str("300s");
  add_duration(*app, "--idle", request->idle, "how long a client may send nothing")
      ->default_str("30s");
  app->footer(
      "Examples:\n  comm-probe serve\n"
      "  comm-probe serve --port 0 --limit 4GiB\n"
      "  curl -LF file=@nccl.log -F file=@topo.txt http://127.0.0.1:8642/doctor");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return serve(shell, *request); }); });
}

}  // namespace comm_probe::cli

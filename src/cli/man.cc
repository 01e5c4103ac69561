// `man`: the manual pages, one or all of them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/man_page.h"
#include "cli/person_commands.h"
#include "core/spelling.h"

namespace comm_probe::cli {
namespace {

namespace fs = std::filesystem;

int write_pages(const Shell& shell, const std::string& folder, const std::vector<ManPage>& pages) {
  std::error_code error;
  fs::create_directories(folder, error);
  core::Document document{.command = "man"};
  document.result["files"] = core::Json::array();
  for (const ManPage& page : pages) {
    const std::string file = (fs::path(folder) / (page.name + ".1")).string();
    std::ofstream out(file, std::ios::binary);
    out << page.text;
    if (!out.flush()) return shell.fail(cannot_write(file));
    document.result["files"].push_back(file);
  }
  document.verdict = fmt::format("{} pages in {}", pages.size(), folder);
  return shell.finish(document);
}

int show_page(const Shell& shell, const std::string& word, const std::vector<ManPage>& pages) {
  const std::string name = word.empty() ? "comm-probe" : "comm-probe-" + word;
  const auto page = std::find_if(pages.begin(), pages.end(),
                                 [&](const ManPage& one) { return one.name == name; });
  if (page == pages.end()) {
    constexpr std::size_t kPrefix = std::string_view("comm-probe-").size();
    std::vector<std::string_view> known;
    for (const ManPage& one : pages)
      if (one.name.size() > kPrefix) known.push_back(std::string_view(one.name).substr(kPrefix));
    return shell.fail(core::input_error(core::unknown_word("subcommand", word, known)));
  }
  core::Document document{.command = "man"};
  document.result = {{"name", page->name}, {"page", page->text}};
  document.body.emplace_back(core::Preformatted{page->text});
  return shell.finish(document);
}

}  // namespace

void add_man(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("man", "the manual pages, made from the help")->group("Set up");
  auto word = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  app->add_option("SUBCOMMAND", *word, "whose page; without it that of the program")->type_name("");
  app->add_option("--folder", *folder, "write all pages into DIR instead")->type_name("DIR");
  app->footer(
      "Examples:\n"
      "  comm-probe man doctor --output doctor.1   (then: man -l doctor.1)\n"
      "  comm-probe man --folder man1              (into a folder of $MANPATH)");
  shell.add_common_flags(*app);
  app->callback([&root, &shell, word, folder] {
    shell.run([&root, &shell, word, folder] {
      const std::vector<ManPage> pages = man_pages(command_table(root));
      return folder->empty() ? show_page(shell, *word, pages) : write_pages(shell, *folder, pages);
    });
  });
}

}  // namespace comm_probe::cli

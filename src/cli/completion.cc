// `completion bash|zsh|fish`: a script that completes subcommands, options and their values.
#include <algorithm>

#include "cli/completion_scripts.h"
#include "cli/person_commands.h"

namespace comm_probe::cli {
namespace {

std::string script_for(const std::string& shell_name, const CommandTable& program) {
  if (shell_name == "bash") return bash_completion(program);
  return shell_name == "zsh" ? zsh_completion(program) : fish_completion(program);
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text)
    if (letter == '\'')
      result += "'\\''";
    else
      result += letter;
  return result + "'";
}

std::string short_text(const std::string& text) {
  constexpr std::size_t kMost = 76;
  std::string first = text.substr(0, std::min({text.find('\n'), text.find("; "), text.size()}));
  if (first.size() <= kMost) return first;
  const std::size_t blank = first.rfind(' ', kMost);
  return first.substr(0, blank == first.npos ? kMost : blank) + " ...";
}

void add_completion(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("completion", "a script that completes what is typed")->group("Set up");
  auto name = std::make_shared<std::string>();
  add_choice(*app, "SHELL", *name, "the shell that reads the script", {"bash", "zsh", "fish"})
      ->required();
  app->footer(
      "Examples:\n"
      "  comm-probe completion bash --output comm-probe.bash   (then: source comm-probe.bash)\n"
      "  comm-probe completion zsh --output _comm-probe        (into a folder of $fpath)\n"
      "  comm-probe completion fish --output comm-probe.fish   (into "
      "~/.config/fish/completions)");
  shell.add_common_flags(*app);
  app->callback([&root, &shell, name] {
    shell.run([&root, &shell, name] {
      const std::string script = script_for(*name, command_table(root));
      core::Document document{.command = "completion"};
      document.result = {{"shell", *name}, {"script", script}};
      document.body.emplace_back(core::Preformatted{script});
      return shell.finish(document);
    });
  });
}

}  // namespace comm_probe::cli

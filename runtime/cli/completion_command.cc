#include <fmt/format.h>

#include <algorithm>

#include "runtime/cli/command.h"

namespace freshet::cli {

namespace {

// Both ask this binary what could come next, so that they never know less or more than it does.
// Files are the shell's business.
constexpr const char* kBash = R"sh(# eval "$(freshet completion bash)"
_freshet() {
  local word="${COMP_WORDS[COMP_CWORD]}"
  local words
  words="$("${COMP_WORDS[0]}" complete-word -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)"
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _freshet freshet
)sh";

constexpr const char* kZsh = R"sh(# eval "$(freshet completion zsh)"
_freshet() {
  local -a candidates
  candidates=(${(f)"$(${words[1]} complete-word -- ${words[2,CURRENT]} 2>/dev/null)"})
  compadd -a candidates
  _files
}
compdef _freshet freshet
)sh";

/// The innermost command that the words name.
const CLI::App* command_of(const CLI::App& parser, const std::vector<std::string>& words) {
  const CLI::App* at = &parser;
  for (const std::string& word : words) {
    for (const CLI::App* one : at->get_subcommands([](const CLI::App*) { return true; })) {
      if (one->get_name() != word || one->get_group().empty()) continue;
      at = one;
      break;
    }
  }
  return at;
}

std::vector<std::string> candidates(const CLI::App& command, bool options) {
  std::vector<std::string> words;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!options && !one->get_group().empty()) words.push_back(one->get_name());
  }
  for (const CLI::Option* option : command.get_options()) {
    if (!options || option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  std::sort(words.begin(), words.end());
  return words;
}

int print_script(const std::string& shell) {
  const char* const script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : nullptr;
  if (script == nullptr) {
    return report(invalid_argument("no completion for '" + shell + "'; there are bash and zsh"));
  }
  fmt::print("{}", script);
  return kExitOk;
}

}  // namespace

std::vector<std::string> completions(const CLI::App& parser, std::vector<std::string> words) {
  const std::string last = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  // Behind `--` is what only the job knows.
  if (std::find(words.begin(), words.end(), "--") != words.end()) return {};
  return candidates(*command_of(parser, words), last.starts_with('-'));
}

void add_completion_command(CLI::App& parser, const Invocation& invocation,
                            std::vector<Command>& commands) {
  auto shell = std::make_shared<std::string>();
  CLI::App* const completion =
      parser.add_subcommand("completion", "Print what a shell needs to complete commands");
  completion->add_option("SHELL", *shell, "bash or zsh")->required();
  completion->footer(
      "Examples:\n  eval \"$(freshet completion bash)\"\n"
      "  freshet completion bash > ~/.local/share/bash-completion/completions/freshet");
  commands.push_back({completion, [shell] { return print_script(*shell); }});

  CLI::App* const word = parser.add_subcommand("complete-word", "Asked by completion");
  word->group("");  // Not shown in --help.
  commands.push_back({word, [&parser, words = invocation.job_arguments] {
                        for (const std::string& one : completions(parser, words))
                          fmt::print("{}\n", one);
                        return kExitOk;
                      }});
}

}  // namespace freshet::cli

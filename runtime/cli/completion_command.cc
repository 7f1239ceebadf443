#include <fmt/format.h>

#include "runtime/cli/command.h"
#include "runtime/cli/completion.h"

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
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
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

int print_script(const std::string& shell) {
  const char* const script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : nullptr;
  if (script == nullptr) {
    return report(invalid_argument("no completion for '" + shell + "'; there are bash and zsh"));
  }
  fmt::print("{}", script);
  return kExitOk;
}

}  // namespace

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
                        for (const std::string& one : completions(parser, words, look_up_names))
                          fmt::print("{}\n", one);
                        return kExitOk;
                      }});
}

}  // namespace freshet::cli

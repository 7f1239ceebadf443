#include "runtime/app/job_compiler.h"

#include <fmt/format.h>

#include <sstream>

#include "runtime/app/child_program.h"
#include "runtime/base/process_environment.h"

namespace freshet {

namespace {

constexpr std::string_view kWhatToInstall =
    "install one with 'apt-get install g++', or name one with CXX";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

struct Program {
  std::string file;
  std::vector<std::string> arguments;
};

Result<Program> find_compiler(const JobToolchain& toolchain,
                              const CompilerEnvironment& environment) {
  std::vector<std::string> chosen = words_of(environment.compiler);
  if (!chosen.empty()) {
    auto file = find_program(chosen.front(), environment.path);
    if (!file.ok())
      return failed_precondition(
          fmt::format("the compiler that CXX names cannot be used: {}", file.status().message()));
    chosen.erase(chosen.begin());
    return Program{*std::move(file), chosen};
  }
  for (const std::string& name : toolchain.compilers) {
    if (auto file = find_program(name, environment.path); file.ok())
      return Program{*std::move(file), {}};
  }
  return failed_precondition(fmt::format("there is no C++ compiler, neither {}: {}",
                                         fmt::join(toolchain.compilers, " nor "), kWhatToInstall));
}

/// The first line that tells one compiler from another.
Result<std::string> version_of(const Program& program) {
  std::vector<std::string> arguments = program.arguments;
  arguments.push_back("--version");
  ASSIGN_OR_RETURN(const ChildOutcome outcome,
                   run_child(program.file, arguments, ChildOutput::kCaptured));
  if (outcome.success && !outcome.output.empty())
    return outcome.output.substr(0, outcome.output.find('\n'));
  return failed_precondition(fmt::format("{} is no compiler: with --version it ends with {}; {}",
                                         program.file, outcome.how, kWhatToInstall));
}

void append(std::vector<std::string>& to, const std::vector<std::string>& words) {
  to.insert(to.end(), words.begin(), words.end());
}

}  // namespace

CompilerEnvironment CompilerEnvironment::of_process() {
  const auto variable = [](const char* name) { return environment_variable(name).value_or(""); };
  CompilerEnvironment environment;
  environment.compiler = variable("CXX");
  environment.flags = variable("CXXFLAGS");
  environment.path = environment_variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  environment.include_path =
      fmt::format("{}\n{}", variable("CPATH"), variable("CPLUS_INCLUDE_PATH"));
  return environment;
}

Result<JobCompiler> JobCompiler::find(const JobToolchain& toolchain,
                                      const CompilerEnvironment& environment) {
  ASSIGN_OR_RETURN(const Program program, find_compiler(toolchain, environment));
  JobCompiler compiler;
  compiler.program_ = program.file;
  compiler.include_path_ = environment.include_path;
  ASSIGN_OR_RETURN(compiler.version_, version_of(program));
  compiler.before_ = program.arguments;
  append(compiler.before_, toolchain.flags);
  if (compiler.version_.find("clang") == std::string::npos)
    append(compiler.before_, toolchain.gnu_flags);
  compiler.before_.push_back("-I" + toolchain.headers);
  append(compiler.before_, words_of(environment.flags));
  compiler.behind_.push_back(toolchain.library);
  append(compiler.behind_, toolchain.link);
  return compiler;
}

std::vector<std::string> JobCompiler::arguments_of(const Request& request) const {
  std::vector<std::string> arguments = before_;
  append(arguments, {"-shared", "-o", request.module});
  if (!request.dependencies.empty())
    append(arguments, {"-MD", "-MF", request.dependencies, "-MT", "module"});
  for (const std::string& source : request.sources) {
    // Never an option, whatever it is called.
    arguments.push_back(source.starts_with('-') ? "./" + source : source);
  }
  append(arguments, request.flags);
  append(arguments, behind_);
  return arguments;
}

Status JobCompiler::compile(const Request& request) const {
  ASSIGN_OR_RETURN(const ChildOutcome outcome,
                   run_child(program_, arguments_of(request), ChildOutput::kToErrors));
  if (outcome.success) return Status();
  return failed_precondition(fmt::format("{} could not be built: {} ended with {}",
                                         fmt::join(request.sources, ", "), program_, outcome.how));
}

std::string JobCompiler::identity() const {
  return fmt::format("{}\n{}\n{}\n{}\n{}", program_, version_, fmt::join(before_, "\n"),
                     fmt::join(behind_, "\n"), include_path_);
}

}  // namespace freshet

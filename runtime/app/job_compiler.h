#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/app/job_toolchain.h"
#include "runtime/base/status.h"

namespace freshet {

/// What the environment says of compilers.
struct CompilerEnvironment {
  std::string compiler;      // CXX: a program and its first arguments; empty: as the library says.
  std::string flags;         // CXXFLAGS, separated by blanks.
  std::string path;          // PATH.
  std::string include_path;  // All variables in which compilers look for more folders of headers.

  static CompilerEnvironment of_process();
};

/// Compiles jobs with the compiler and the flags of the library that they will run with.
class JobCompiler {
 public:
  struct Request {
    std::vector<std::string> sources;
    std::vector<std::string> flags;
    std::string module;  // The shared object to make.
    std::string
        dependencies;  // Where to write which files were read, as make has it; may be empty.
  };

  /// Looks for the compiler, and asks it who it is. kFailedPrecondition when there is none, with
  /// what to do about it.
  static Result<JobCompiler> find(const JobToolchain&, const CompilerEnvironment&);

  /// What the compiler says goes to standard error. kFailedPrecondition when it refuses a source.
  Status compile(const Request&) const;

  /// All that decides about a module besides its sources.
  std::string identity() const;

  std::vector<std::string> arguments_of(const Request&) const;

 private:
  JobCompiler() = default;

  std::string program_;
  std::string version_;
  std::string include_path_;
  std::vector<std::string> before_;  // Of a command, in front of the sources.
  std::vector<std::string> behind_;
};

}  // namespace freshet

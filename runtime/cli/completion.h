#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "runtime/cli/cluster_selection.h"

namespace freshet::cli {

/// What the machine has to be asked for.
enum class CompletionSubject { kClusters, kProcesses, kJobs, kSubtasks };

/// What was said of them so far.
struct CompletionScope {
  ClusterSelection cluster;
  std::string job;  // Whose subtasks are asked for.
};

/// Names of them; none when nobody can say.
using CompletionLookup =
    std::function<std::vector<std::string>(CompletionSubject, const CompletionScope&)>;

/// Asks files and the JobManager, for a second at most.
std::vector<std::string> look_up_names(CompletionSubject, const CompletionScope&);

/// What the last of `words` may become, sorted: a value of the option before it, options when it
/// begins like one, else commands or arguments. Files are not among them.
std::vector<std::string> completions(const CLI::App& parser, std::vector<std::string> words,
                                     const CompletionLookup& look_up);

}  // namespace freshet::cli

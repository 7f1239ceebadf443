#include "runtime/api/built_job.h"

#include <algorithm>
#include <exception>

#include "runtime/api/environment.h"
#include "runtime/api/usage_error.h"
#include "runtime/connectors/connector_error.h"

namespace freshet {
namespace {

/// Says where the first difference is, for people.
std::string difference(const BuiltJob& first, const BuiltJob& second) {
  if (first.name() != second.name()) {
    return "its name is '" + first.name() + "', then '" + second.name() + "'";
  }
  const auto& a = first.graph().operators;
  const auto& b = second.graph().operators;
  if (a.size() != b.size()) {
    return std::to_string(a.size()) + " operators, then " + std::to_string(b.size());
  }
  for (size_t i = 0; i < a.size(); i++) {
    if (a[i].name != b[i].name) return "operator '" + a[i].name + "' is then '" + b[i].name + "'";
    if (a[i].uid != b[i].uid || a[i].parallelism != b[i].parallelism) {
      return "operator '" + a[i].name + "' has another uid or parallelism then";
    }
  }
  return "settings or edges of its operators differ";
}

bool same(const BuiltJob& first, const BuiltJob& second) {
  const auto& a = first.graph().operators;
  const auto& b = second.graph().operators;
  return first.name() == second.name() &&
         fingerprint_of(first.graph()) == fingerprint_of(second.graph()) &&
         std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
           return x.id == y.id && x.parallelism == y.parallelism;
         });
}

/// What is wrong with the arguments explains what a builder throws after it was given a stand-in.
void run_builder(const std::function<void(Environment&)>& builder, Environment& environment) {
  try {
    builder(environment);
  } catch (...) {
    environment.arguments().throw_if_refused();
    throw;
  }
}

}  // namespace

Result<std::shared_ptr<const BuiltJob>> build_job(const std::string& name,
                                                  const std::function<void(Environment&)>& builder,
                                                  const BuildOptions& options) {
  const std::string job = "job '" + name + "'";
  try {
    Environment environment(name, options);
    run_builder(builder, environment);
    auto built = environment.finish();
    if (!built.ok()) return built.status().with_context(job);
    return built;
  } catch (const HelpRequest& request) {
    return aborted(job + ": " + request.what());
  } catch (const UsageError& error) {
    return invalid_argument(job + ": " + error.what());
  } catch (const ConnectorError& error) {
    return invalid_argument(job + ": " + error.what());
  } catch (const std::exception& error) {
    return user_error(job + " threw while it was built: " + error.what());
  } catch (...) {
    return user_error(job + " threw something that is no std::exception while it was built");
  }
}

Result<std::shared_ptr<const BuiltJob>> build_twice(JobModule& module,
                                                    const BuildOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<const BuiltJob> first, module.build(options));
  ASSIGN_OR_RETURN(const std::shared_ptr<const BuiltJob> second, module.build(options));
  if (!same(*first, *second)) {
    return user_error("job '" + first->name() +
                      "': its builder builds differently the second time (" +
                      difference(*first, *second) +
                      "); it must not depend on clocks, files, random numbers or static variables");
  }
  return first;
}

}  // namespace freshet

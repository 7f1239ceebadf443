#include "runtime/app/fault_gate.h"

namespace freshet {

Result<std::unique_ptr<Faults>> faults_of(const Configuration& configuration, bool allowed) {
  const std::string script = configuration.text(config::kTestFaults);
  if (script.empty()) return std::unique_ptr<Faults>();
  if (!allowed) {
    return invalid_argument(
        "test.faults breaks processes on purpose and is refused without --allow-faults");
  }
  auto faults = make_scripted_faults(script);
  if (!faults.ok()) return faults.status().with_context(config::kTestFaults.name);
  return faults;
}

}  // namespace freshet

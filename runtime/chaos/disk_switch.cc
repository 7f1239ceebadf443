#include "runtime/chaos/disk_switch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/configuration.h"

namespace freshet::chaos {

Result<std::unique_ptr<DiskSwitch>> DiskSwitch::create(const std::string& path) {
  RETURN_IF_ERROR(create_disk_switches(path));
  ASSIGN_OR_RETURN(auto switches, map_disk_switches(path));
  return std::unique_ptr<DiskSwitch>(new DiskSwitch(path, std::move(switches)));
}

DiskSwitch::DiskSwitch(std::string path, std::shared_ptr<DiskSwitches> switches)
    : path_(std::move(path)), switches_(std::move(switches)) {}

std::vector<std::string> DiskSwitch::arguments() const {
  return {"--allow-faults", "-D", fmt::format("{}={}", config::kTestDisk.name, path_)};
}

void DiskSwitch::fill(DiskFiles which) { switches_->of(which).full = 1; }

void DiskSwitch::slow_down(DiskFiles which, Duration delay) {
  switches_->of(which).delay_ms =
      static_cast<uint32_t>(std::clamp<int64_t>(to_millis(delay), 1, UINT32_MAX));
}

void DiskSwitch::fail(DiskFiles which) { switches_->of(which).fails = 1; }

void DiskSwitch::mend(DiskFiles which) {
  DiskState& disk = switches_->of(which);
  disk.full = 0;
  disk.fails = 0;
  disk.delay_ms = 0;
}

uint64_t DiskSwitch::met(DiskFiles which) const { return switches_->of(which).met; }

}  // namespace freshet::chaos

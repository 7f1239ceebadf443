#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::fuzz {

// Each gives bytes to a part of the runtime that reads them from outside, and aborts when that does
// not behave. README.md says what each one reaches.
void channel(std::string_view bytes);
void envelope(std::string_view bytes);
void files(std::string_view bytes);
void frames(std::string_view bytes);
void gate(std::string_view bytes);
void job_manager(std::string_view bytes);
void job_module(std::string_view bytes);
void partitions(std::string_view bytes);
void records(std::string_view bytes);
void rest_api(std::string_view bytes);
void serving(std::string_view bytes);
void settings(std::string_view bytes);
void task_manager(std::string_view bytes);
void texts(std::string_view bytes);

// What sound peers, files and users say, for each of them to begin with.
using Seeds = std::vector<std::string>;
Seeds channel_seeds();
Seeds envelope_seeds();
Seeds files_seeds();
Seeds frames_seeds();
Seeds gate_seeds();
Seeds job_manager_seeds();
Seeds job_module_seeds();
Seeds partitions_seeds();
Seeds records_seeds();
Seeds rest_api_seeds();
Seeds serving_seeds();
Seeds settings_seeds();
Seeds task_manager_seeds();
Seeds texts_seeds();

struct Target {
  const char* name;
  void (*run)(std::string_view bytes);
  Seeds (*seeds)();
};

/// All of them, by name.
const std::vector<Target>& targets();

/// The runtime logs nothing from now on: what it refuses it says, millions of times.
void log_nothing();

}  // namespace freshet::fuzz

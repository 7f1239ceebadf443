#pragma once

#include <string>

std::string initial_of(const std::string& line);

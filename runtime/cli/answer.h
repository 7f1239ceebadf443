#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace freshet::cli {

/// What a command says on standard output: text, or with `--json` one document and nothing else.
/// What went wrong stands in its `errors`, and on standard error as without the option. Values
/// copy.
class Answer {
 public:
  /// Adds `--json`.
  void add_flag(CLI::App& parser, const std::string& meaning = "An object, for programs");
  bool json() const { return json_; }

  /// With `--json`: what is printed to standard output from now on goes to standard error. Before
  /// code of users is loaded, which may print.
  void reserve_output();

  /// The document. Locks nothing once the output is reserved: a thread that prints may hold up
  /// whoever does.
  Status give(const nlohmann::ordered_json& document) const;

  /// The document that only says what went wrong, if something did. Gives the exit code as
  /// report() does.
  int report(const Status&) const;
  /// The same for what has failed though the command was well formed.
  int fail(const Status&) const;

 private:
  bool json_ = false;
  int output_ = -1;  // What standard output was; -1: still is.
};

/// `{"errors": [message]}`.
nlohmann::ordered_json errors_json(std::string_view message);

/// As all documents are printed; bytes that are no UTF-8 are replaced.
std::string document_text(const nlohmann::ordered_json&);

}  // namespace freshet::cli

#pragma once

#include <string>

#include "runtime/base/status.h"

namespace freshet {

// What processes keep on disk is loaded as code (job modules) and decides whom they signal (state
// files): nobody but their user may change it.

/// A new directory that only this user can enter, with its parents. kAlreadyExists when there is
/// something of that name, whatever it is.
Status make_private_directory(const std::string& path);

/// Refuses a directory that is not this user's or that others can write to; ok when there is none.
Status check_private_directory(const std::string& path);

/// Refuses a directory in which others can replace what is this user's: one of another user than
/// root, or one that others can write to and that is not sticky, as /tmp is. Ok when there is none.
Status check_parent_directory(const std::string& path);

/// Refuses a file that others than this user, its group and root could have written; kNotFound when
/// there is none. A link counts as much as what it leads to.
Status check_trusted_file(const std::string& path);

}  // namespace freshet

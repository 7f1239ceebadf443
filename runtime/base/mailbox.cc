#include "runtime/base/mailbox.h"

#include "runtime/base/check.h"

namespace freshet {

void Mailbox::assert_on_thread() const { CHECK(executor_.on_thread()); }

}  // namespace freshet

#include "runtime/api/job.h"

#include <item.pb.h>

#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/elements.h"

namespace {

using freshet::test::versions::Item;

/// One per module, though both modules have a variable of this name.
inline int items_made = 0;

}  // namespace

inline int& shared_name_counter() {
  static int counter = 0;
  return counter;
}

/// Two versions of one job: the same names, another Item.
FRESHET_JOB(versions) {
  env.from_source(freshet::elements(std::vector<std::string>{"a"}))
      .map([](const std::string& name) {
        Item item;
        item.set_name(name);
        item.set_count(++shared_name_counter() + ++items_made);
#ifdef ITEM_HAS_NOTE
        item.set_note("noted");
#endif
        return item;
      })
      .uid("make")
      .map([](const Item& item) {
        std::string text = item.name() + " " + std::to_string(item.count());
#ifdef ITEM_HAS_NOTE
        text += " " + item.note();
#endif
        return text;
      })
      .uid("show")
      .sink_to(freshet::discard_sink<std::string>());
}

#include "runtime/connectors/print_sink.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/connectors/connector_error.h"
#include "runtime/connectors/sink_operator.h"
#include "runtime/operators/permanent_failure.h"

namespace freshet {

namespace {

class PrintWriter final : public Operator {
 public:
  explicit PrintWriter(ErasedLineFormat format) : format_(std::move(format)) {}

  void open(OperatorContext& context, std::vector<RecordReceiver*> /*outputs*/) override {
    context_ = &context;
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis /*timestamp*/) override {
    const EpochMillis now = context_->processing_time();
    if (lines_.empty()) oldest_ = now;
    const size_t whole = lines_.size();
    try {
      format_(record, lines_);
    } catch (...) {
      lines_.resize(whole);  // close() still writes the lines before this one.
      throw;
    }
    lines_.push_back('\n');
    // How long they have waited is not known when the clock went back.
    const bool due = now - oldest_ >= kDelayMax || now < oldest_;
    if (lines_.size() >= kBufferBytes || due) write_or_throw();
  }

  void on_idle() override {
    if (!lines_.empty()) write_or_throw();
  }

  bool finish() override {
    write_or_throw();
    return true;
  }

  void close() override { (void)write(); }

 private:
  static constexpr size_t kBufferBytes = 8 << 10;
  static constexpr EpochMillis kDelayMax = 100;

  /// The stream's lock keeps the lines of several tasks whole.
  Status write() {
    const size_t written = std::fwrite(lines_.data(), 1, lines_.size(), stdout);
    const bool complete = written == lines_.size() && std::fflush(stdout) == 0;
    const int error = errno;
    lines_.clear();
    if (complete) return Status();
    const std::string message =
        std::string("standard output cannot be written: ") + std::strerror(error);
    return may_heal() ? unavailable(message) : failed_precondition(message);
  }

  void write_or_throw() {
    const Status written = write();
    if (written.code() == StatusCode::kFailedPrecondition) {
      throw PermanentFailure(written.message());
    }
    throw_if_error(written);
  }

  /// The disk of a file may get room again. A pipe without a reader stays so, and so does what is
  /// closed; and a restart would print all lines once more.
  static bool may_heal() {
    struct stat info {};
    return ::fstat(::fileno(stdout), &info) == 0 && S_ISREG(info.st_mode);
  }

  ErasedLineFormat format_;
  OperatorContext* context_ = nullptr;
  std::string lines_;
  EpochMillis oldest_ = 0;  // When the first of lines_ came.
};

}  // namespace

std::shared_ptr<const OperatorFactory> make_print_factory(ErasedLineFormat format) {
  SinkParts parts;
  parts.publication = {.visible = Visible::kAtOnce, .directory = {}};
  parts.writer = [format = std::move(format)] { return std::make_unique<PrintWriter>(format); };
  return make_sink_factory(std::move(parts));
}

}  // namespace freshet

#include "runtime/connectors/sink_operator.h"

namespace freshet {

namespace {

class SinkFactory final : public OperatorFactory {
 public:
  explicit SinkFactory(SinkParts parts) : parts_(std::move(parts)) {}

  std::unique_ptr<Operator> make() const override { return parts_.writer(); }
  std::unique_ptr<Committer> make_committer() const override {
    return parts_.committer ? parts_.committer() : nullptr;
  }
  std::string owned() const override { return parts_.owned; }
  Publication publication() const override { return parts_.publication; }
  Status check(const JobId& job, FileSystem& files) const override {
    return parts_.check ? parts_.check(job, files) : Status();
  }
  void clean_up(const JobId& job, FileSystem& files) const override {
    if (parts_.clean_up) parts_.clean_up(job, files);
  }

 private:
  SinkParts parts_;
};

}  // namespace

std::shared_ptr<const OperatorFactory> make_sink_factory(SinkParts parts) {
  return std::make_shared<SinkFactory>(std::move(parts));
}

}  // namespace freshet

#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace freshet {

/// A callable that may own move-only things, called at most as often as its owner likes.
/// (std::move_only_function is C++23.) An empty one must not be called.
template <class Signature>
class UniqueFunction;

template <class R, class... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  UniqueFunction(std::nullptr_t) {}  // NOLINT: implicit by design

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> &&
           std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
      UniqueFunction(F&& function)  // NOLINT: implicit by design
      : target_(std::make_unique<Target<std::remove_cvref_t<F>>>(std::forward<F>(function))) {}

  explicit operator bool() const { return target_ != nullptr; }

  R operator()(Args... args) { return target_->call(std::forward<Args>(args)...); }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual R call(Args... args) = 0;
  };
  template <class F>
  struct Target final : Base {
    template <class G>
    explicit Target(G&& g) : function(std::forward<G>(g)) {}
    R call(Args... args) override { return function(std::forward<Args>(args)...); }
    F function;
  };

  std::unique_ptr<Base> target_;
};

}  // namespace freshet

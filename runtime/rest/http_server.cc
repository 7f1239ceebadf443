#include "runtime/rest/http_server.h"

#include <dlfcn.h>

#include <utility>

namespace freshet::rest {

namespace {

constexpr const char* kLibrary = "libfreshet_http.so";
constexpr const char* kFunction = "freshet_start_http_server";

using Start = void(const Address&, size_t, RequestHandlers, Result<std::unique_ptr<HttpServer>>&);

/// Beside the library that this is in.
std::string library_path() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&library_path), &own) == 0) return kLibrary;
  const std::string path = own.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + kLibrary;
}

Result<Start*> load() {
  const std::string path = library_path();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* const function = library == nullptr ? nullptr : dlsym(library, kFunction);
  if (function != nullptr) return reinterpret_cast<Start*>(function);
  return internal_error("no HTTP without " + path + ": " + dlerror());
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Address& bind, size_t threads_max,
                                                      RequestHandlers handlers) {
  static const Result<Start*> start = load();
  if (!start.ok()) return start.status();
  Result<std::unique_ptr<HttpServer>> server = internal_error("not started");
  (*start)(bind, threads_max, std::move(handlers), server);
  return server;
}

}  // namespace freshet::rest

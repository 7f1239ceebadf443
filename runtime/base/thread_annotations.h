#pragma once

// Clang's capability analysis; nothing under other compilers. See "Threads" in ARCHITECTURE.md.
#if defined(__clang__)
#define FRESHET_ATTRIBUTE(x) __attribute__((x))
#else
#define FRESHET_ATTRIBUTE(x)
#endif

#define CAPABILITY(name) FRESHET_ATTRIBUTE(capability(name))
#define GUARDED_BY(x) FRESHET_ATTRIBUTE(guarded_by(x))
#define REQUIRES(...) FRESHET_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define ASSERT_CAPABILITY(x) FRESHET_ATTRIBUTE(assert_capability(x))
#define NO_THREAD_SAFETY_ANALYSIS FRESHET_ATTRIBUTE(no_thread_safety_analysis)

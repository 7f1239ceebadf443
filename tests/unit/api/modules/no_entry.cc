extern "C" __attribute__((visibility("default"))) int freshet_nothing() { return 1; }

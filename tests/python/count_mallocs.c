/* Counts what is asked of malloc and its kin, in all threads, between two calls. Loaded first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_long count;
static atomic_int counting;

static void* next(const char* name) { return dlsym(RTLD_NEXT, name); }
static void note(void) {
  if (counting) ++count;
}

void* malloc(size_t size) {
  static void* (*real)(size_t);
  if (!real) real = next("malloc");
  note();
  return real(size);
}

void* calloc(size_t items, size_t size) {
  static void* (*real)(size_t, size_t);
  static char early[4096]; /* dlsym itself asks for memory */
  static size_t used;
  static int looking;
  if (looking) return early + (used += 256) - 256;
  if (!real) {
    looking = 1;
    real = next("calloc");
    looking = 0;
  }
  note();
  return real(items, size);
}

void* realloc(void* old, size_t size) {
  static void* (*real)(void*, size_t);
  if (!real) real = next("realloc");
  note();
  return real(old, size);
}

int posix_memalign(void** made, size_t alignment, size_t size) {
  static int (*real)(void**, size_t, size_t);
  if (!real) real = next("posix_memalign");
  note();
  return real(made, alignment, size);
}

void start_counting(void) {
  count = 0;
  counting = 1;
}

long stop_counting(void) {
  counting = 0;
  return count;
}

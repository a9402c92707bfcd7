// The log of what is written and synced: one header and the bytes for each event.
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <stdlib.h>

static int log_fd = -1;
static int without_syncs;

struct header {
  uint32_t kind;
  uint32_t file;
  uint64_t offset;
  uint32_t flags;
  uint32_t count;
};

int is_recording(void) { return log_fd >= 0; }
int ignores_syncs(void) { return without_syncs; }

static void append(const void *bytes, size_t count) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "write");
  const char *next = bytes;
  while (count > 0) {
    ssize_t written = real(log_fd, next, count);
    // A log with a hole in it would prove nothing.
    if (written <= 0) abort();
    next += written;
    count -= (size_t)written;
  }
}

void record(enum event kind, uint32_t file, uint64_t offset, uint32_t flags, const void *bytes, size_t count) {
  if (log_fd < 0) return;
  struct header header = {(uint32_t)kind, file, offset, flags, (uint32_t)count};
  append(&header, sizeof header);
  append(bytes, count);
}

// Writes the log to `fd` from now on; -1 ends it. `ignore` passes over syncs: the control.
void torture_record(int fd, int ignore) {
  log_fd = fd;
  without_syncs = ignore;
}

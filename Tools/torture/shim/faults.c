// Calls that fail: the n-th of a class, once or from then on.
#include "shim.h"

#include <errno.h>

static int armed_calls;
static int64_t countdown;
static int fails_for_ever;
static int fault_code;
static int64_t seen;

// Makes the `n`-th call from now of the classes in `calls` fail with `code`, and with `for_ever` all after it;
// a `code` of -1 cuts a write short, -2 says that it was done and does nothing. `calls` 0 disarms.
void torture_arm(int calls, int64_t n, int for_ever, int code) {
  armed_calls = calls;
  countdown = n;
  fails_for_ever = for_ever;
  fault_code = code;
  seen = 0;
}

// How many calls of the armed classes there were.
int64_t torture_seen(void) { return seen; }

int next_fault(enum call kind, int *shortened) {
  *shortened = 0;
  if (!(armed_calls & kind)) return 0;
  seen++;
  if (seen < countdown || (seen > countdown && !fails_for_ever)) return 0;
  if (fault_code >= 0) return fault_code;
  if (fault_code == -2) {
    *shortened = WRITE_NOTHING;
    return 0;
  }
  // What follows a short write is the full disk that caused it.
  if (kind == CALL_WRITE && seen == countdown) {
    *shortened = WRITE_HALF;
    return 0;
  }
  return ENOSPC;
}

// What tells a file from its copies: a state of the disk that is put together from a log has to pass for the
// files that were recorded, or the store would take them, rightly, for a copy.
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/stat.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALIASES = 64 };
static struct {
  ino_t found, recorded;
} aliases[ALIASES];
static int alias_count;

// Lets the file whose number is `found` pass for the one whose number was `recorded`; 0 forgets all.
void torture_alias(uint64_t found, uint64_t recorded) {
  if (found == 0) alias_count = 0;
  else if (alias_count < ALIASES) {
    aliases[alias_count].found = (ino_t)found;
    aliases[alias_count++].recorded = (ino_t)recorded;
  }
}

int fstat(int fd, struct stat *status) {
  static int (*real)(int, struct stat *);
  if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "fstat");
  int result = real(fd, status);
  if (result != 0 || !tracked(fd)) return result;
  for (int i = 0; i < alias_count; i++) {
    if (aliases[i].found == status->st_ino) {
      status->st_ino = aliases[i].recorded;
      break;
    }
  }
  return result;
}

// The file of a name must be the same as the open one.
int fstatat(int directory, const char *path, struct stat *status, int flags) {
  static int (*real)(int, const char *, struct stat *, int);
  if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "fstatat");
  int result = real(directory, path, status, flags);
  for (int i = 0; i < alias_count && result == 0; i++) {
    if (aliases[i].found == status->st_ino) {
      status->st_ino = aliases[i].recorded;
      break;
    }
  }
  return result;
}

// Every watched file was made at one moment.
long syscall(long number, ...) {
  static long (*real)(long, ...);
  if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "syscall");
  long a[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
  va_end(arguments);
  // The log has no exchange of names: the store renames instead.
  if (number == SYS_renameat2) {
    errno = ENOSYS;
    return -1;
  }
  long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (number == SYS_statx && result == 0 && tracked((int)a[0])) {
    struct statx *status = (struct statx *)a[4];
    status->stx_mask |= STATX_BTIME;
    status->stx_btime.tv_sec = 1;
    status->stx_btime.tv_nsec = 0;
  }
  return result;
}

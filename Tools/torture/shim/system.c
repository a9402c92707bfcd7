// File systems and limits for one process and its children alone.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>

// Gives this process mounts of its own, which go with it. Returns an errno.
int torture_private_mounts(void) {
  if (unshare(CLONE_NEWNS) != 0) return errno;
  return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ? 0 : errno;
}

// Mounts a memory file system of `bytes` at `path`. Returns an errno.
int torture_mount_memory(const char *path, long bytes) {
  char options[64];
  snprintf(options, sizeof options, "size=%ld", bytes);
  return mount("tmpfs", path, "tmpfs", 0, options) == 0 ? 0 : errno;
}

// Lets no file grow beyond `bytes`, -1 for as far as it may; the signal that tells of it is not wanted.
void torture_limit_files(long bytes) {
  struct rlimit limit;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes < 0 ? limit.rlim_max : (rlim_t)bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

// Lets no more than `count` files be open, -1 for as many as there may be.
void torture_limit_descriptors(long count) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = count < 0 ? limit.rlim_max : (rlim_t)count;
  setrlimit(RLIMIT_NOFILE, &limit);
}

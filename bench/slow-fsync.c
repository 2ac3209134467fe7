/*
 * Delays each fsync and fdatasync of a process by SLOW_FSYNC_MS milliseconds, as the disk of a cloud machine does.
 * `npm run bench -- --fsync-ms N` compiles it and loads it into the Signet server by LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(void) {
  const char *text = getenv("SLOW_FSYNC_MS");
  double ms = text ? atof(text) : 0;
  struct timespec delay = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000L};
  nanosleep(&delay, NULL);
}

int fsync(int file) {
  wait_for_disk();
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  wait_for_disk();
  return (int)syscall(SYS_fdatasync, file);
}

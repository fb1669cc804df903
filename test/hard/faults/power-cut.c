/*
 * Simulates a disk that loses unsynced data in a power cut, for one folder ($POWER_CUT_FOLDER). Preloaded into a
 * process, this library maintains a second folder ($POWER_CUT_DISK) with only the data that finished fsyncs cover:
 *
 *   - The fsync of a file copies its written bytes to the second folder.
 *   - The fsync of a folder adds the names of new files. A removed name disappears at once.
 *
 * Killing the process simulates the power cut; the second folder is then the content of the disk. A real disk may keep
 * more. SQLite inside Node.js calls the functions of libc dynamically, so this library sees all of its writes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WRITES 200000
#define UNNAMED "unnamed-"

struct written { ino_t file; off_t offset; size_t length; };
static struct written writes[MAX_WRITES];
static int count = 0;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the path of a descriptor if it is the folder or in the folder, and NULL otherwise. */
static const char *watched(int fd, char *path) {
  const char *folder = getenv("POWER_CUT_FOLDER");
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (folder == NULL || length <= 0) return NULL;
  path[length] = 0;
  size_t prefix = strlen(folder);
  return strncmp(path, folder, prefix) == 0 && (path[prefix] == '/' || path[prefix] == 0) ? path : NULL;
}

static void die(const char *why) {
  perror(why);
  abort();
}

static void note(int fd, size_t length, off_t offset) {
  char path[PATH_MAX];
  struct stat stat;
  /* SQLite never syncs the index of the log, and recreates it. */
  if (watched(fd, path) == NULL || strstr(path, "-shm") != NULL || fstat(fd, &stat) != 0) return;
  pthread_mutex_lock(&lock);
  if (count == MAX_WRITES) die("power-cut: too many writes between two syncs");
  writes[count++] = (struct written){ stat.st_ino, offset, length };
  pthread_mutex_unlock(&lock);
}

/* Opens the copy of the file in the second folder. It has a temporary name until the fsync of its folder. */
static int counterpart(const char *path) {
  const char *name = strrchr(path, '/') + 1;
  char named[PATH_MAX], unnamed[PATH_MAX];
  snprintf(named, sizeof named, "%s/%s", getenv("POWER_CUT_DISK"), name);
  snprintf(unnamed, sizeof unnamed, "%s/" UNNAMED "%s", getenv("POWER_CUT_DISK"), name);
  int fd = open(named, O_RDWR);
  if (fd < 0) fd = open(unnamed, O_RDWR | O_CREAT, 0600);
  if (fd < 0) die("power-cut: open");
  return fd;
}

static void keep_file(int fd, const char *path) {
  static ssize_t (*write_really)(int, const void *, size_t, off_t);
  if (write_really == NULL) write_really = dlsym(RTLD_NEXT, "pwrite64");
  struct stat stat;
  fstat(fd, &stat);
  int disk = counterpart(path), left = 0;
  for (int i = 0; i < count; i++) {
    if (writes[i].file != stat.st_ino) {
      writes[left++] = writes[i];
      continue;
    }
    char *bytes = malloc(writes[i].length);
    ssize_t length = pread(fd, bytes, writes[i].length, writes[i].offset);
    if (write_really(disk, bytes, length, writes[i].offset) != length) die("power-cut: write");
    free(bytes);
  }
  count = left;
  if (ftruncate(disk, stat.st_size) != 0) die("power-cut: truncate");
  close(disk);
}

static void keep_names(void) {
  DIR *folder = opendir(getenv("POWER_CUT_DISK"));
  char from[PATH_MAX], to[PATH_MAX];
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (strncmp(entry->d_name, UNNAMED, strlen(UNNAMED)) != 0) continue;
    snprintf(from, sizeof from, "%s/%s", getenv("POWER_CUT_DISK"), entry->d_name);
    snprintf(to, sizeof to, "%s/%s", getenv("POWER_CUT_DISK"), entry->d_name + strlen(UNNAMED));
    if (rename(from, to) != 0) die("power-cut: rename");
  }
  closedir(folder);
}

static int synced(int fd, int result) {
  char path[PATH_MAX];
  struct stat stat;
  if (result != 0 || watched(fd, path) == NULL || fstat(fd, &stat) != 0) return result;
  pthread_mutex_lock(&lock);
  if (S_ISDIR(stat.st_mode)) keep_names();
  else keep_file(fd, path);
  pthread_mutex_unlock(&lock);
  return result;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
  ssize_t result = REAL(pwrite64)(fd, bytes, length, offset);
  if (result > 0) note(fd, result, offset);
  return result;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  return pwrite64(fd, bytes, length, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  ssize_t result = REAL(write)(fd, bytes, length);
  if (result > 0) note(fd, result, lseek(fd, 0, SEEK_CUR) - result);
  return result;
}

/* Removes a name at once: SQLite syncs the folder after it has removed a journal that would undo a commit. */
int unlink(const char *path) {
  const char *folder = getenv("POWER_CUT_FOLDER");
  char kept[PATH_MAX];
  if (folder != NULL && strncmp(path, folder, strlen(folder)) == 0) {
    snprintf(kept, sizeof kept, "%s/%s", getenv("POWER_CUT_DISK"), strrchr(path, '/') + 1);
    REAL(unlink)(kept);
    snprintf(kept, sizeof kept, "%s/" UNNAMED "%s", getenv("POWER_CUT_DISK"), strrchr(path, '/') + 1);
    REAL(unlink)(kept);
  }
  return REAL(unlink)(path);
}

int fsync(int fd) { return synced(fd, REAL(fsync)(fd)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)(fd)); }

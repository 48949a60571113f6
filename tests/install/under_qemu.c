/* What a program of another processor begins with, as a script does: #!under_qemu PROGRAM. It has qemu-user
 * run PROGRAM, with the libraries of the folder SYSROOT, so that mpiexec starts such programs as it starts
 * any. It is linked statically: what mpiexec preloads is for PROGRAM's processor alone. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static char preload[4096];
  char** const words = calloc((size_t)argc + 8, sizeof *words);
  if (words == NULL || argc < 3) return 2;
  int count = 0;
  words[count++] = "qemu-aarch64";
  words[count++] = "-L";
  words[count++] = SYSROOT;
  if (getenv("LD_PRELOAD") != NULL) {
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
    unsetenv("LD_PRELOAD");
    words[count++] = "-E";
    words[count++] = preload;
  }
  words[count++] = "-0"; /* the name that it was started by */
  words[count++] = argv[2];
  words[count++] = argv[1];
  for (int i = 3; i < argc; ++i) words[count++] = argv[i];
  execvp(words[0], words);
  perror(words[0]);
  return 127;
}

/* kind_of(address): "global" where it lies in a mapping of the symmetric heap, else "private". */
#ifndef MAPPING_H
#define MAPPING_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char* kind_of(const void* address) {
  char line[512];
  const char* kind = "private";
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin, end;
    if (sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    if ((uintptr_t)address < begin || (uintptr_t)address >= end) continue;
    if (strstr(line, "tasuki-heap-") != NULL) kind = "global";
  }
  fclose(maps);
  return kind;
}

#endif

// Files that one MPI library writes and another one reads: every case is a view of each of two ranks and
// numbers that follow from case, rank and place. Plain MPI, built by each library's mpicc.
//
//   exchanged_files write FOLDER            makes FOLDER/CASE for each case
//   exchanged_files read FOLDER...          reads and checks all that is there
//
// The numbers by the shared file pointer are native ones only: MPICH does not read its own external32 so. Of
// MPI_WCHAR there is no file: MPICH aborts when it is to convert it.
//
// Prints a line for every file: "right CASE", or "left out CASE: why" where the library cannot do it (data
// representations). What is wrong ends the job.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kDoublesMax = 4000, kTypedElements = 100 };

static int rank;

struct view {
  const char* name;
  const char* datarep;
  MPI_Offset displacement;
  MPI_Datatype etype, filetype;
  int count;    // basic elements that this rank has in the file
  int ordered;  // by the shared file pointer, whose view all ranks have in common
};

static void check(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// ---- views ----------------------------------------------------------------------------------------------

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

// A quarter of a matrix for each of four, the ranks with two of these that lie across.
static void subarray(struct view* view, MPI_Datatype etype, int order) {
  const int sizes[2] = {20, 30};
  const int parts[2] = {20, 15};
  const int starts[2] = {0, 15 * rank};
  MPI_Type_create_subarray(2, sizes, parts, starts, order, etype, &view->filetype);
  view->etype = etype;
  view->count = 20 * 15;
}

static void darray(struct view* view, MPI_Datatype etype, int order) {
  const int sizes[3] = {5, 14, 6};
  const int kinds[3] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[3] = {MPI_DISTRIBUTE_DFLT_DARG, 3, MPI_DISTRIBUTE_DFLT_DARG};
  const int grid[3] = {1, 2, 1};
  MPI_Type_create_darray(2, rank, 3, sizes, kinds, arguments, grid, order, etype, &view->filetype);
  view->etype = etype;
  view->count = 5 * 6 * (rank == 0 ? 8 : 6);  // 0-2, 6-8, 12 and 13 are rank 0's of the 14
}

// Listed blocks with holes that no rank fills, in tiles that take turns; several tiles.
static void listed(struct view* view, MPI_Datatype etype, int element_bytes) {
  const int lengths[3] = {1, 3, 2};
  const MPI_Aint places[3] = {0, 2 * element_bytes, 7 * element_bytes};
  MPI_Datatype blocks;
  MPI_Type_create_hindexed(3, lengths, places, etype, &blocks);
  MPI_Type_create_resized(blocks, 0, 24 * element_bytes, &view->filetype);
  MPI_Type_free(&blocks);
  view->etype = etype;
  view->displacement += 13 + 11 * rank * element_bytes;
  view->count = 6 * 40;
}

static void plain(struct view* view, MPI_Datatype etype) {
  MPI_Type_contiguous(5, etype, &view->filetype);
  view->etype = etype;
  view->ordered = 1;
  view->count = rank == 0 ? 35 : 50;
}

// ---- every basic type -----------------------------------------------------------------------------------

enum kind { kSigned, kUnsigned, kFloating, kComplex, kBool };

struct basic {
  const char* name;
  MPI_Datatype type;
  enum kind kind;
  int size;
};

#define BASIC(type, kind, c) \
  { "external_" #type, type, kind, (int)sizeof(c) }

// Gives the basic type `number`; returns 0 behind the last one.
static int get_basic(int number, struct basic* basic) {
  const struct basic all[] = {
      BASIC(MPI_CHAR, kSigned, char),
      BASIC(MPI_SIGNED_CHAR, kSigned, signed char),
      BASIC(MPI_UNSIGNED_CHAR, kUnsigned, unsigned char),
      BASIC(MPI_SHORT, kSigned, short),
      BASIC(MPI_UNSIGNED_SHORT, kUnsigned, unsigned short),
      BASIC(MPI_INT, kSigned, int),
      BASIC(MPI_UNSIGNED, kUnsigned, unsigned),
      BASIC(MPI_LONG_LONG, kSigned, long long),
      BASIC(MPI_UNSIGNED_LONG_LONG, kUnsigned, unsigned long long),
      BASIC(MPI_INT8_T, kSigned, int8_t),
      BASIC(MPI_INT16_T, kSigned, int16_t),
      BASIC(MPI_INT32_T, kSigned, int32_t),
      BASIC(MPI_INT64_T, kSigned, int64_t),
      BASIC(MPI_UINT8_T, kUnsigned, uint8_t),
      BASIC(MPI_UINT16_T, kUnsigned, uint16_t),
      BASIC(MPI_UINT32_T, kUnsigned, uint32_t),
      BASIC(MPI_UINT64_T, kUnsigned, uint64_t),
      BASIC(MPI_AINT, kSigned, MPI_Aint),
      BASIC(MPI_COUNT, kSigned, MPI_Count),
      BASIC(MPI_OFFSET, kSigned, MPI_Offset),
      BASIC(MPI_FLOAT, kFloating, float),
      BASIC(MPI_DOUBLE, kFloating, double),
#ifndef OPEN_MPI  // which gives a long as much room in a file as in memory, and stores x87's 80 bits
      BASIC(MPI_LONG, kSigned, long),
      BASIC(MPI_UNSIGNED_LONG, kUnsigned, unsigned long),
      BASIC(MPI_LONG_DOUBLE, kFloating, long double),
      BASIC(MPI_C_LONG_DOUBLE_COMPLEX, kComplex, long double _Complex),
#endif
      BASIC(MPI_C_BOOL, kBool, _Bool),
      BASIC(MPI_C_FLOAT_COMPLEX, kComplex, float _Complex),
      BASIC(MPI_C_DOUBLE_COMPLEX, kComplex, double _Complex),
  };
  if (number >= (int)(sizeof all / sizeof all[0])) return 0;
  *basic = all[number];
  return 1;
}

static void set_floating(char* memory, int size, int value) {
  const float one = value / 8.0f;
  const double two = value / 8.0;
  const long double three = value / 8.0L;
  if (size == (int)sizeof one) memcpy(memory, &one, sizeof one);
  if (size == (int)sizeof two) memcpy(memory, &two, sizeof two);
  if (size == (int)sizeof three) memcpy(memory, &three, 10);  // the rest is padding
}

// `value` as an element of the type; a little-endian machine.
static void set_element(char* memory, const struct basic* basic, int value) {
  const long long number = basic->kind == kSigned ? -(long long)value
                           : basic->kind == kBool ? value & 1
                                                  : value;
  if (basic->kind == kFloating) {
    set_floating(memory, basic->size, -value);
  } else if (basic->kind == kComplex) {
    set_floating(memory, basic->size / 2, value);
    set_floating(memory + basic->size / 2, basic->size / 2, -value);
  } else {
    memcpy(memory, &number, (size_t)basic->size);
  }
}

// Each rank has a file of its own, of twice as many elements as are read: MPICH converts an MPI_LONG to its 4
// bytes, but takes it for one of 8 in a file, and so reads and writes too many bytes.
static void one_typed_file(const char* folder, const struct basic* basic, int write) {
  static char wanted[2 * kTypedElements * 32], got[2 * kTypedElements * 32];
  const int elements = write ? 2 * kTypedElements : kTypedElements;
  char path[4096];
  MPI_File file;
  MPI_Aint extent = 0;
  MPI_Status status;
  int count = 0;
  snprintf(path, sizeof path, "%s/%s.%d", folder, basic->name, rank);
  memset(wanted, 0, sizeof wanted);
  memset(got, 0, sizeof got);
  for (int i = 0; i < elements; ++i) set_element(wanted + i * basic->size, basic, 1 + i + rank * 17);
  check(MPI_File_open(MPI_COMM_SELF, path, write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY,
                      MPI_INFO_NULL, &file),
        path);
  check(MPI_File_set_view(file, 0, basic->type, basic->type, "external32", MPI_INFO_NULL), basic->name);
  check(MPI_File_get_type_extent(file, basic->type, &extent), "MPI_File_get_type_extent");
  if (write)
    check(MPI_File_write(file, wanted, elements, basic->type, &status), "MPI_File_write");
  else
    check(MPI_File_read(file, got, elements, basic->type, &status), "MPI_File_read");
  MPI_Get_count(&status, basic->type, &count);
  check(MPI_File_close(&file), "MPI_File_close");
  if (count != elements || (!write && memcmp(wanted, got, sizeof got) != 0)) {
    fprintf(stderr, "rank %d: %s: %d elements came, or others than were written\n", rank, path, count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) printf("right %s %d\n", basic->name, (int)extent);
}

// ---- views, continued -----------------------------------------------------------------------------------

// Gives case `number`; returns 0 behind the last one.
static int make_view(int number, struct view* view) {
  static const char* const names[] = {
      "subarray", "subarray_fortran",  "darray",         "darray_fortran", "listed", "far",
      "ordered",  "external_subarray", "external_listed"};
  if (number >= (int)(sizeof names / sizeof names[0])) return 0;
  memset(view, 0, sizeof *view);
  view->name = names[number];
  view->datarep = strncmp(view->name, "external", 8) == 0 ? "external32" : "native";
  switch (number) {
    case 0:
    case 7:
      subarray(view, MPI_DOUBLE, MPI_ORDER_C);
      break;
    case 1:
      subarray(view, MPI_INT, MPI_ORDER_FORTRAN);
      break;
    case 2:
      darray(view, MPI_INT, MPI_ORDER_C);
      break;
    case 3:
      darray(view, MPI_DOUBLE, MPI_ORDER_FORTRAN);
      break;
    case 4:
      listed(view, MPI_INT, 4);
      break;
    case 8:
      listed(view, MPI_DOUBLE, 8);
      break;
    case 5:
      view->displacement = (MPI_Offset)5 << 30;
      listed(view, MPI_DOUBLE, 8);
      break;
    default:
      plain(view, MPI_INT);
  }
  committed(view->filetype);
  return 1;
}

// ---- numbers --------------------------------------------------------------------------------------------

static void set_number(void* memory, MPI_Datatype type, int place, int value) {
  if (type == MPI_INT) {
    ((int*)memory)[place] = value;
  } else {
    ((double*)memory)[place] = value / 8.0;
  }
}

// All numbers of this rank in every other place of `memory`, the rest untouched.
static void fill(double* memory, const struct view* view, int number) {
  for (int i = 0; i < view->count; ++i)
    set_number(memory, view->etype, 2 * i, number * 1000003 + rank * 10007 + i * 31 + 1);
}

// ---- accesses -------------------------------------------------------------------------------------------

static void access_file(MPI_File file, const struct view* view, double* memory, int write) {
  MPI_Datatype spread;
  MPI_Status status;
  int count = 0;
  MPI_Type_vector(view->count, 1, 2, view->etype, &spread);
  MPI_Type_commit(&spread);
  if (write && view->ordered)
    check(MPI_File_write_ordered(file, memory, 1, spread, &status), "MPI_File_write_ordered");
  else if (write)
    check(MPI_File_write_all(file, memory, 1, spread, &status), "MPI_File_write_all");
  else if (view->ordered)
    check(MPI_File_read_ordered(file, memory, 1, spread, &status), "MPI_File_read_ordered");
  else
    check(MPI_File_read_all(file, memory, 1, spread, &status), "MPI_File_read_all");
  MPI_Get_elements(&status, view->etype, &count);
  MPI_Type_free(&spread);
  if (!write && count != view->count) {
    fprintf(stderr, "rank %d: %s: %d elements came, expected %d\n", rank, view->name, count, view->count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void one_file(const char* folder, const struct view* view, int number, int write) {
  static double wanted[kDoublesMax], got[kDoublesMax];
  char path[4096];
  MPI_File file;
  snprintf(path, sizeof path, "%s/%s", folder, view->name);
  memset(wanted, 0, sizeof wanted);
  memset(got, 0, sizeof got);
  fill(wanted, view, number);
  check(MPI_File_open(MPI_COMM_WORLD, path, write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY,
                      MPI_INFO_NULL, &file),
        path);
  const int code =
      MPI_File_set_view(file, view->displacement, view->etype, view->filetype, view->datarep, MPI_INFO_NULL);
  if (code != MPI_SUCCESS && strcmp(view->datarep, "native") != 0) {
    if (rank == 0) printf("left out %s: %s is not known\n", view->name, view->datarep);
    MPI_File_close(&file);
    if (write && rank == 0) remove(path);
    return;
  }
  check(code, "MPI_File_set_view");
  access_file(file, view, write ? wanted : got, write);
  check(MPI_File_close(&file), "MPI_File_close");
  if (!write && memcmp(wanted, got, sizeof got) != 0) {
    fprintf(stderr, "rank %d: %s: the numbers are not those that were written\n", rank, path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) printf("right %s\n", view->name);
}

static int is_there(const char* folder, const char* name, const char* ending) {
  char path[4096];
  int there = 1;
  if (rank == 0) {
    snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    FILE* file = fopen(path, "rb");
    there = file != NULL;
    if (file != NULL) fclose(file);
  }
  MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return there;
}

int main(int argc, char** argv) {
  struct view view;
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int write = argc > 2 && strcmp(argv[1], "write") == 0;
  if (argc < 3 || size != 2) {
    fprintf(stderr, "exchanged_files write|read FOLDER..., with two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int folder = 2; folder < argc; ++folder) {
    for (int number = 0; make_view(number, &view); ++number) {
      if (write || is_there(argv[folder], view.name, "")) one_file(argv[folder], &view, number, write);
      MPI_Type_free(&view.filetype);
    }
    struct basic basic;
    for (int number = 0; get_basic(number, &basic); ++number)
      if (write || is_there(argv[folder], basic.name, ".0")) one_typed_file(argv[folder], &basic, write);
  }
  MPI_Finalize();
  return 0;
}

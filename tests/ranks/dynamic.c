/* More than one job: what the first word says is done by those that were started with it; the spawned ones
   are this program again, with the part they play. test_dynamic.py runs it at several numbers of ranks. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int rank, size;
static const char* program;

static int size_of(MPI_Comm comm) {
  int result;
  MPI_Comm_size(comm, &result);
  return result;
}

static int rank_in(MPI_Comm comm) {
  int result;
  MPI_Comm_rank(comm, &result);
  return result;
}

static int remote_size_of(MPI_Comm comm) {
  int result;
  MPI_Comm_remote_size(comm, &result);
  return result;
}

static void pause_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/* Whether `code` is an error of `wanted`, whose text holds `part`. */
static void expect_error(int code, int wanted, const char* part) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int class = MPI_SUCCESS, length;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  CHECK(class == wanted, "class %d, expected %d: %s", class, wanted, text);
  CHECK(strstr(text, part) != NULL, "\"%s\" does not say \"%s\"", text, part);
}

static MPI_Comm spawn(const char* part, int count, MPI_Comm comm) {
  char* words[] = {(char*)part, NULL};
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_spawn(program, words, count, MPI_INFO_NULL, 0, comm, &inter, MPI_ERRCODES_IGNORE);
  CHECK(remote_size_of(inter) == count, "%d children, expected %d", remote_size_of(inter), count);
  return inter;
}

/* Messages of every way that a message can take, each to each of the other side. */
static void talk(MPI_Comm inter) {
  static const int sizes[] = {1, 300, 5000, 400000};
  const int others = remote_size_of(inter), me = rank_in(inter);
  for (int s = 0; s < 4; ++s) {
    const int count = sizes[s];
    int *out = malloc(sizeof(int) * (size_t)count), *in = malloc(sizeof(int) * (size_t)(count * others));
    MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)(2 * others));
    for (int i = 0; i < count; ++i) out[i] = me * 1000 + i % 1000;
    for (int peer = 0; peer < others; ++peer) {
      MPI_Irecv(in + peer * count, count, MPI_INT, peer, s, inter, &requests[2 * peer]);
      MPI_Isend(out, count, MPI_INT, peer, s, inter, &requests[2 * peer + 1]);
    }
    MPI_Waitall(2 * others, requests, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < others; ++peer)
      for (int i = 0; i < count; ++i)
        CHECK(in[peer * count + i] == peer * 1000 + i % 1000, "from %d at %d: %d", peer, i,
              in[peer * count + i]);
    free(out), free(in), free(requests);
  }
}

static void sum_over(MPI_Comm comm) {
  const int all = size_of(comm);
  int mine = rank_in(comm) + 1, total = 0;
  MPI_Allreduce(&mine, &total, 1, MPI_INT, MPI_SUM, comm);
  CHECK(total == all * (all + 1) / 2, "sum %d over %d ranks", total, all);
}

/* Both sides: talk, collectives on the intercommunicator, merge in either order, collectives on that. */
static void meet(MPI_Comm inter, int is_child) {
  talk(inter);
  int mine = 1, theirs = 0;
  MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, inter);
  CHECK(theirs == remote_size_of(inter), "%d on the other side", theirs);
  for (int high = 0; high < 2; ++high) {
    MPI_Comm merged, copy;
    MPI_Intercomm_merge(inter, high ? !is_child : is_child, &merged);
    CHECK(size_of(merged) == size_of(inter) + remote_size_of(inter), "merged %d", size_of(merged));
    const int is_first = high ? is_child : !is_child;
    const int first = is_first ? size_of(inter) : remote_size_of(inter);
    CHECK((rank_in(merged) < first) == is_first, "rank %d in the merged one", rank_in(merged));
    sum_over(merged);
    MPI_Comm_dup(merged, &copy);
    sum_over(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&merged);
  }
}

static void check_world(void) {
  int *universe, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
  CHECK(!flag || *universe >= size, "universe size");
  sum_over(MPI_COMM_WORLD);
}

static void leave_parent(MPI_Comm* parent) {
  MPI_Comm_disconnect(parent);
  MPI_Comm_get_parent(parent);
  CHECK(*parent == MPI_COMM_NULL, "a parent after MPI_Comm_disconnect");
}

/* ----- beside: a second thread spawns, by an mpiexec that waits until the file NAME.go is there, and has
   written NAME.asked before. It is the main thread that makes the former, after calls of its own. */

static void* spawn_and_meet(void* nothing) {
  MPI_Comm inter = spawn("meeting-child", 1, MPI_COMM_SELF);
  meet(inter, 0);
  MPI_Comm_disconnect(&inter);
  return nothing;
}

static void do_beside(const char* name) {
  char asked[1000], go[1000];
  int out = 17, in = 0;
  MPI_Comm others;
  pthread_t thread;
  snprintf(asked, sizeof asked, "%s.asked", name);
  snprintf(go, sizeof go, "%s.go", name);
  MPI_Comm_dup(MPI_COMM_SELF, &others);
  pthread_create(&thread, NULL, spawn_and_meet, NULL);
  while (access(asked, F_OK) != 0) pause_ms(1);
  MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, others, MPI_STATUS_IGNORE);
  CHECK(in == 17, "%d came", in);
  fclose(fopen(go, "w"));
  pthread_join(thread, NULL);
  MPI_Comm_free(&others);
  puts("beside: right");
}

/* ----- spawn: 1 to 3 children of the world, twice
 * ----------------------------------------------------------- */

static void do_spawn(void) {
  for (int count = 1; count <= 3; count += 2) {
    MPI_Comm inter = spawn("meeting-child", count, MPI_COMM_WORLD);
    meet(inter, 0);
    MPI_Comm_disconnect(&inter);
  }
  check_world();
  if (rank == 0) puts("spawn: right");
}

static void do_meeting_child(MPI_Comm parent) {
  check_world();
  meet(parent, 1);
  leave_parent(&parent);
}

/* ----- each: every rank spawns one of its own over MPI_COMM_SELF
 * -------------------------------------------- */

static void do_each(void) {
  MPI_Comm inter = spawn("meeting-child", 1, MPI_COMM_SELF);
  meet(inter, 0);
  MPI_Comm_disconnect(&inter);
  check_world();
  if (rank == 0) puts("each: right");
}

/* ----- multiple: two programs, with arguments, a directory and a number of their own
 * ------------------------ */

static const char* machine(void) {
  static struct utsname name;
  uname(&name);
  return name.machine;
}

static void do_multiple(void) {
  char* commands[] = {(char*)program, (char*)program};
  char *first[] = {"part-child", "one word", "", NULL}, *second[] = {"part-child", "other", NULL};
  char** words[] = {first, second};
  const int counts[] = {1, 2};
  MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Info_create(&infos[1]);
  /* The second one by its name, looked for where it is, from the folder in which it starts. */
  const char* name = strrchr(program, '/');
  char folder[4096];
  CHECK(name != NULL && program[0] == '/', "%s is no absolute name", program);
  snprintf(folder, sizeof folder, "no/such:%.*s", (int)(name - program) - 1, program + 1);
  commands[1] = (char*)name + 1;
  MPI_Info_set(infos[1], "path", folder);
  MPI_Info_set(infos[1], "arch", machine());
  MPI_Info_set(infos[1], "wdir", "/");
  MPI_Info_set(infos[1], "host", "localhost");
  MPI_Comm inter;
  int codes[3] = {-1, -1, -1};
  const int root = size - 1;
  if (rank == root) {
    MPI_Comm_spawn_multiple(2, commands, words, counts, infos, root, MPI_COMM_WORLD, &inter, codes);
  } else {
    MPI_Comm_spawn_multiple(-1, NULL, NULL, NULL, NULL, root, MPI_COMM_WORLD, &inter, codes);
  }
  for (int i = 0; i < 3; ++i) CHECK(codes[i] == MPI_SUCCESS, "code %d of child %d", codes[i], i);
  CHECK(remote_size_of(inter) == 3, "%d children", remote_size_of(inter));
  meet(inter, 0);
  MPI_Comm_disconnect(&inter);
  MPI_Info_free(&infos[1]);
  if (rank == 0) puts("multiple: right");
}

static void do_part_child(MPI_Comm parent, int argc, char** argv) {
  char directory[4096];
  int *number, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
  CHECK(flag && *number == (rank > 0), "MPI_APPNUM of rank %d", rank);
  CHECK(size == 3, "a world of %d", size);
  if (rank == 0) {
    CHECK(argc == 4 && strcmp(argv[2], "one word") == 0 && argv[3][0] == '\0', "arguments of rank 0");
  } else {
    CHECK(argc == 3 && strcmp(argv[2], "other") == 0, "arguments of rank %d", rank);
    CHECK(getcwd(directory, sizeof directory) != NULL && strcmp(directory, "/") == 0, "in %s", directory);
  }
  meet(parent, 1);
  leave_parent(&parent);
}

/* ----- generations: a child spawns, and all three generations become one communicator
 * ----------------------- */

static void do_generations(void) {
  MPI_Comm inter = spawn("middle-child", 2, MPI_COMM_WORLD), family, remote, all;
  MPI_Intercomm_merge(inter, 0, &family);
  /* The children lead to their own: grandparents and grandchildren have never heard of each other. */
  MPI_Intercomm_create(family, size, MPI_COMM_NULL, 0, 5, &remote);
  CHECK(remote_size_of(remote) == 2, "%d grandchildren", remote_size_of(remote));
  talk(remote);
  MPI_Intercomm_merge(remote, 0, &all);
  CHECK(size_of(all) == size + 4, "all are %d", size_of(all));
  sum_over(all);
  MPI_Comm_free(&all);
  MPI_Comm_free(&remote);
  MPI_Comm_free(&family);
  MPI_Comm_disconnect(&inter);
  if (rank == 0) puts("generations: right");
}

static void do_middle_child(MPI_Comm parent) {
  MPI_Comm inter = spawn("grand-child", 2, MPI_COMM_WORLD), family, remote, all;
  MPI_Intercomm_merge(parent, 1, &family);
  const int leader = remote_size_of(parent);
  MPI_Intercomm_create(family, leader, rank == 0 ? inter : MPI_COMM_NULL, 0, 5, &remote);
  talk(remote);
  MPI_Intercomm_merge(remote, 0, &all);
  sum_over(all);
  MPI_Comm_free(&all);
  MPI_Comm_free(&remote);
  MPI_Comm_free(&family);
  MPI_Comm_disconnect(&inter);
  leave_parent(&parent);
}

static void do_grand_child(MPI_Comm parent) {
  MPI_Comm remote, all;
  MPI_Intercomm_create(MPI_COMM_WORLD, 0, rank == 0 ? parent : MPI_COMM_NULL, 0, 5, &remote);
  talk(remote);
  MPI_Intercomm_merge(remote, 1, &all);
  sum_over(all);
  MPI_Comm_free(&all);
  MPI_Comm_free(&remote);
  leave_parent(&parent);
}

/* ----- errors: each told to all, and nothing is the worse for it
 * -------------------------------------------- */

static void fail_to_spawn(const char* command, int count, const char* key, const char* value, int wanted,
                          const char* part) {
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
  int codes[2] = {-1, -1};
  if (key != NULL) {
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
  }
  char* words[] = {"meeting-child", NULL};
  expect_error(MPI_Comm_spawn(command, words, count, info, 0, MPI_COMM_WORLD, &inter, codes), wanted, part);
  for (int i = 0; i < count; ++i) {
    int class;
    MPI_Error_class(codes[i], &class);
    CHECK(class == MPI_ERR_SPAWN, "code %d of a child that was not started", codes[i]);
  }
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

static void do_errors(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  fail_to_spawn("/no/such/program", 2, NULL, NULL, MPI_ERR_SPAWN, "No such file or directory");
  fail_to_spawn("no-such-program-anywhere", 1, NULL, NULL, MPI_ERR_SPAWN, "searched PATH");
  fail_to_spawn("/", 1, NULL, NULL, MPI_ERR_SPAWN, "cannot run '/'");
  fail_to_spawn(program, 0, NULL, NULL, MPI_ERR_ARG, "maxprocs = 0");
  fail_to_spawn(program, -1, NULL, NULL, MPI_ERR_ARG, "maxprocs = -1");
  fail_to_spawn(NULL, 1, NULL, NULL, MPI_ERR_ARG, "command");
  fail_to_spawn(program, 2, "wdir", "/no/such/folder", MPI_ERR_SPAWN, "/no/such/folder");
  fail_to_spawn(program, 2, "host", "some.other.machine", MPI_ERR_SPAWN, "host = \"some.other.machine\"");
  fail_to_spawn(program, 2, "arch", "pdp11", MPI_ERR_SPAWN, "arch = \"pdp11\"");
  fail_to_spawn(program, 2, "file", "/some/keys", MPI_ERR_SPAWN, "file = \"/some/keys\"");
  fail_to_spawn("meeting-child", 1, "path", "/no/such:/folders", MPI_ERR_SPAWN, "searched /no/such:/folders");
  fail_to_spawn(program, 2, "soft", "1;2", MPI_ERR_INFO_VALUE, "soft = \"1;2\"");
  fail_to_spawn(program, 2, "soft", "3,5:9", MPI_ERR_SPAWN, "has no number");
  expect_error(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &(MPI_Comm){0},
                              MPI_ERRCODES_IGNORE),
               MPI_ERR_ROOT, "root");
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  expect_error(MPI_Comm_connect("tasuki:nowhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT,
               "tasuki:nowhere");
  expect_error(MPI_Comm_accept("tasuki:nowhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT,
               "tasuki:nowhere");
  expect_error(MPI_Close_port("tasuki:nowhere"), MPI_ERR_PORT, "tasuki:nowhere");
  expect_error(MPI_Lookup_name("tasuki-test-nobody", MPI_INFO_NULL, port), MPI_ERR_NAME, "not published");
  expect_error(MPI_Unpublish_name("tasuki-test-nobody", MPI_INFO_NULL, "x"), MPI_ERR_SERVICE, "published");
  expect_error(MPI_Comm_join(12345, &inter), MPI_ERR_ARG, "fd = 12345");
  /* "soft" may make it fewer; and all still works. */
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "soft", "1:5:2,20");
  char* words[] = {"meeting-child", NULL};
  int codes[4], class;
  CHECK(MPI_Comm_spawn(program, words, 4, info, 0, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS,
        "soft spawn");
  CHECK(remote_size_of(inter) == 3 && codes[2] == MPI_SUCCESS, "%d by soft", remote_size_of(inter));
  MPI_Error_class(codes[3], &class);
  CHECK(class == MPI_ERR_SPAWN, "code %d of the fourth", codes[3]);
  meet(inter, 0);
  MPI_Comm_disconnect(&inter);
  MPI_Info_free(&info);
  if (rank == 0) puts("errors: right");
}

/* ----- many: spawning again and again takes no more of anything
 * --------------------------------------------- */

static int open_descriptors(void) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static void do_many(int times) {
  int before = 0;
  for (int time = 0; time < times; ++time) {
    MPI_Comm inter = spawn("short-child", 1, MPI_COMM_WORLD);
    int token = time;
    if (rank == 0) MPI_Send(&token, 1, MPI_INT, 0, 1, inter);
    MPI_Comm_disconnect(&inter);
    if (time == 2) before = open_descriptors();
  }
  CHECK(open_descriptors() <= before, "%d descriptors, %d before", open_descriptors(), before);
  if (rank == 0) puts("many: right");
}

static void do_short_child(MPI_Comm parent) {
  int token = -1;
  if (rank == 0) MPI_Recv(&token, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
  CHECK(rank != 0 || token >= 0, "token %d", token);
  leave_parent(&parent);
}

/* ----- serve and visit: two jobs that find each other by a name
 * ---------------------------------------------- */

static void do_serve(const char* service, int times) {
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(service, MPI_INFO_NULL, port);
    puts("serving");
    fflush(stdout);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_error(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE, "published already");
  }
  for (int time = 0; time < times; ++time) {
    MPI_Comm inter;
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    meet(inter, 0);
    MPI_Comm_disconnect(&inter);
  }
  if (rank == 0) {
    MPI_Unpublish_name(service, MPI_INFO_NULL, port);
    MPI_Close_port(port);
    puts("serve: right");
  }
}

static void do_visit(const char* service, int times) {
  char port[MPI_MAX_PORT_NAME] = "";
  for (int time = 0; time < times; ++time) {
    MPI_Comm inter;
    const int root = size - 1;
    if (rank == root) MPI_Lookup_name(service, MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter);
    meet(inter, 1);
    MPI_Comm_disconnect(&inter);
  }
  check_world();
  if (rank == 0) puts("visit: right");
}

/* ----- join: two ranks with a socket in common
 * --------------------------------------------------------------- */

static int connected_socket(const char* name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
  const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (rank == 0) {
    CHECK(bind(fd, (struct sockaddr*)&address, bytes) == 0 && listen(fd, 1) == 0, "%s", strerror(errno));
    MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    const int accepted = accept(fd, NULL, NULL);
    close(fd);
    return accepted;
  }
  MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(connect(fd, (struct sockaddr*)&address, bytes) == 0, "%s", strerror(errno));
  return fd;
}

static void do_join(void) {
  if (rank < 2) {
    char name[64];
    snprintf(name, sizeof name, "tasuki-join-test-%d", (int)getppid());
    const int fd = connected_socket(name);
    MPI_Comm inter;
    MPI_Comm_join(fd, &inter);
    talk(inter);
    MPI_Comm_disconnect(&inter);
    char byte = 'a';
    CHECK(write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1 && byte == 'a', "the socket is not as it was");
    close(fd);
  }
  check_world();
  if (rank == 0) puts("join: right");
}

/* ----- ends
 * ---------------------------------------------------------------------------------------------------*/

/* The parents finalise with messages under way to children that take them later. */
static void do_finalize_early(void) {
  MPI_Comm inter = spawn("late-child", 2, MPI_COMM_WORLD);
  int data[1000];
  for (int message = 0; message < 50; ++message) {
    for (int i = 0; i < 1000; ++i) data[i] = message;
    for (int child = 0; child < 2; ++child) MPI_Send(data, 1000, MPI_INT, child, message, inter);
  }
}

static void do_late_child(MPI_Comm parent) {
  pause_ms(300);
  int data[1000];
  for (int message = 0; message < 50; ++message) {
    for (int source = 0; source < remote_size_of(parent); ++source) {
      MPI_Recv(data, 1000, MPI_INT, source, message, parent, MPI_STATUS_IGNORE);
      CHECK(data[0] == message && data[999] == message, "message %d holds %d", message, data[0]);
    }
  }
  if (rank == 0) puts("late child: right");
}

static void do_wait_for_child(const char* part) {
  MPI_Comm inter = spawn(part, 1, MPI_COMM_WORLD);
  int token;
  MPI_Recv(&token, 1, MPI_INT, 0, 77, inter, MPI_STATUS_IGNORE);
}

static void do_die_with_children(void) {
  MPI_Comm inter = spawn("waiting-child", 2, MPI_COMM_WORLD);
  MPI_Barrier(inter);
  raise(SIGKILL);
}

/* A child that its parents have let go of outlives them. */
static void do_detach(void) {
  MPI_Comm inter = spawn("detached-child", 1, MPI_COMM_WORLD);
  MPI_Comm_disconnect(&inter);
}

static void do_detached_child(MPI_Comm parent) {
  leave_parent(&parent);
  pause_ms(300);
  puts("detached child: right");
}

static void do_leave_unfinalized(void) {
  MPI_Comm inter = spawn("waiting-child", 1, MPI_COMM_WORLD);
  MPI_Barrier(inter);
  _exit(0);
}

/* ----- MPI_Finalize and connected processes: who waits for whom is written to a file
 * ------------------------- */

static void note(const char* path, const char* line) {
  FILE* file = fopen(path, "a");
  CHECK(file != NULL, "%s: %s", path, strerror(errno));
  fputs(line, file);
  fclose(file);
}

/* How a side lets go of the other before it finalises: not at all, by freeing (a merged one too), or really.
 */
static void let_go(MPI_Comm* inter, const char* how, int is_child) {
  MPI_Comm merged;
  if (strcmp(how, "free") == 0) MPI_Comm_free(inter);
  if (strcmp(how, "disconnect") == 0) {
    MPI_Intercomm_merge(*inter, is_child, &merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(inter);
  }
}

static void do_finish(const char* how, const char* path) {
  char* words[] = {"finishing-child", (char*)how, (char*)path, NULL};
  MPI_Comm inter;
  int data[1000], in[2000];
  MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  if (strcmp(how, "disconnect") == 0) let_go(&inter, how, 0);
  pause_ms(400);
  if (strcmp(how, "disconnect") != 0) {
    for (int child = 0; child < 2; ++child) {
      MPI_Recv(in, 1, MPI_INT, child, 1, inter, MPI_STATUS_IGNORE);
      MPI_Recv(data, 1000, MPI_INT, child, 2, inter, MPI_STATUS_IGNORE);
      CHECK(in[0] == child && data[999] == child, "%d and %d of child %d", in[0], data[999], child);
    }
    let_go(&inter, how, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) note(path, "parent\n");
}

static void do_finishing_child(MPI_Comm parent, const char* how) {
  int data[1000];
  for (int i = 0; i < 1000; ++i) data[i] = rank;
  for (int to = 0; to < remote_size_of(parent) && strcmp(how, "disconnect") != 0; ++to) {
    MPI_Send(&rank, 1, MPI_INT, to, 1, parent);
    MPI_Send(data, 1000, MPI_INT, to, 2, parent);
  }
  let_go(&parent, how, 1);
}

/* All receive from any source, of two children that were spawned one after the other into one
   communicator: the first has finished when the second sends. */
static MPI_Comm both_children(MPI_Comm first, int is_child) {
  MPI_Comm all, second, both;
  MPI_Intercomm_merge(first, is_child, &all);
  second = spawn("sending-child", 1, all);
  MPI_Intercomm_merge(second, 0, &both);
  return both;
}

static void do_any_of_two(void) {
  const MPI_Comm both = both_children(spawn("silent-child", 1, MPI_COMM_WORLD), 0);
  int token = 0;
  MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 5, both, MPI_STATUS_IGNORE);
  CHECK(token == 7, "token %d", token);
  if (rank == 0) puts("any of two: right");
}

static void do_sending_child(MPI_Comm parent) {
  MPI_Comm both;
  int token = 7;
  MPI_Intercomm_merge(parent, 1, &both);
  pause_ms(400);
  for (int to = 0; to < remote_size_of(parent) - 1; ++to) MPI_Send(&token, 1, MPI_INT, to, 5, both);
}

/* A receive that no rank serves is no harm as long as no call waits for it. */
static void do_cancel_late(void) {
  MPI_Comm inter = spawn("leaving-child", 1, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Status status;
  int token, cancelled;
  MPI_Irecv(&token, 1, MPI_INT, 0, 77, inter, &request);
  if (rank == 0) pause_ms(400);
  MPI_Barrier(MPI_COMM_WORLD); /* the others sleep here, and look who has gone */
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(cancelled, "not cancelled");
  if (rank == 0) puts("cancel late: right");
}

/* Any of several requests, of which one is inactive, and none can be over. */
static void do_wait_for_any_of_child(const char* part) {
  MPI_Comm inter = spawn(part, 1, MPI_COMM_WORLD);
  MPI_Request requests[4];
  int tokens[3], index;
  requests[0] = MPI_REQUEST_NULL;
  MPI_Irecv(&tokens[0], 1, MPI_INT, 0, 77, inter, &requests[1]);
  MPI_Irecv(&tokens[1], 1, MPI_INT, MPI_ANY_SOURCE, 78, inter, &requests[2]);
  MPI_Recv_init(&tokens[2], 1, MPI_INT, 0, 79, inter, &requests[3]);
  MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
}

static void do_probe_for_child(const char* part) {
  MPI_Comm inter = spawn(part, 1, MPI_COMM_WORLD);
  MPI_Probe(0, 77, inter, MPI_STATUS_IGNORE);
}

/* Two jobs that meet and of which one dies while the other is in MPI_Finalize. */
static void do_stay(const char* service) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Publish_name(service, MPI_INFO_NULL, port);
  puts("serving");
  fflush(stdout);
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  MPI_Unpublish_name(service, MPI_INFO_NULL, port);
}

static void do_visit_and_die(const char* service) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  MPI_Lookup_name(service, MPI_INFO_NULL, port);
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  pause_ms(300);
  raise(SIGKILL);
}

/* ----- limits of time for MPI_Comm_connect and MPI_Comm_accept
 * ----------------------------------------------- */

static void do_time_out(void) {
  static const char* const bad[] = {"", "soon", "-1", "1e30", "nan", "1 s"};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Info info;
  MPI_Info_create(&info);
  for (int accepts = 0; accepts < 2; ++accepts) {
    const MPI_Comm comm = accepts ? MPI_COMM_WORLD : MPI_COMM_SELF;
    if (accepts) MPI_Barrier(MPI_COMM_WORLD);
    if (!accepts && rank == 0) continue;
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; ++i) {
      const int is_bad = i < sizeof bad / sizeof *bad;
      MPI_Comm inter = MPI_COMM_WORLD;
      MPI_Info_set(info, "timeout", is_bad ? bad[i] : "0.2");
      const int code = accepts ? MPI_Comm_accept(port, info, 0, comm, &inter)
                               : MPI_Comm_connect(port, info, 0, comm, &inter);
      CHECK(inter == MPI_COMM_NULL, "a communicator after an error");
      if (is_bad) expect_error(code, MPI_ERR_INFO_VALUE, "expected a number of seconds");
      if (!is_bad)
        expect_error(code, MPI_ERR_PORT,
                     accepts ? "no process connected within 0.2 s" : "no process accepted within 0.2 s");
    }
  }
  MPI_Info_free(&info);
  if (rank == 0) puts("time-out: right");
}

static void play(MPI_Comm parent, int argc, char** argv) {
  const char* part = argv[1];
  if (strcmp(part, "meeting-child") == 0) do_meeting_child(parent);
  if (strcmp(part, "part-child") == 0) do_part_child(parent, argc, argv);
  if (strcmp(part, "middle-child") == 0) do_middle_child(parent);
  if (strcmp(part, "grand-child") == 0) do_grand_child(parent);
  if (strcmp(part, "short-child") == 0) do_short_child(parent);
  if (strcmp(part, "late-child") == 0) do_late_child(parent);
  if (strcmp(part, "finishing-child") == 0) do_finishing_child(parent, argv[2]);
  if (strcmp(part, "silent-child") == 0) both_children(parent, 1);
  if (strcmp(part, "sending-child") == 0) do_sending_child(parent);
  if (strcmp(part, "detached-child") == 0) do_detached_child(parent);
  if (strcmp(part, "aborting-child") == 0) MPI_Abort(MPI_COMM_WORLD, 42);
  if (strcmp(part, "leaving-child") == 0) return; /* to MPI_Finalize, while the parents wait for a message */
  if (strcmp(part, "waiting-child") == 0) {
    MPI_Barrier(parent);
    do_wait_for_child("waiting-child-of-its-own");
  }
  if (strcmp(part, "waiting-child-of-its-own") == 0) pause_ms(60000);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  const int has_threads = argc > 1 && strcmp(argv[1], "beside") == 0;
  int level;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  program = argv[0];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&parent);
  const char* what = argc > 1 ? argv[1] : "";
  if (parent != MPI_COMM_NULL) {
    play(parent, argc, argv);
  } else if (strcmp(what, "spawn") == 0) {
    do_spawn();
  } else if (strcmp(what, "beside") == 0) {
    do_beside(argv[2]);
  } else if (strcmp(what, "each") == 0) {
    do_each();
  } else if (strcmp(what, "multiple") == 0) {
    do_multiple();
  } else if (strcmp(what, "generations") == 0) {
    do_generations();
  } else if (strcmp(what, "errors") == 0) {
    do_errors();
  } else if (strcmp(what, "many") == 0) {
    do_many(atoi(argv[2]));
  } else if (strcmp(what, "serve") == 0) {
    do_serve(argv[2], atoi(argv[3]));
  } else if (strcmp(what, "visit") == 0) {
    do_visit(argv[2], atoi(argv[3]));
  } else if (strcmp(what, "join") == 0) {
    do_join();
  } else if (strcmp(what, "finalize-early") == 0) {
    do_finalize_early();
  } else if (strcmp(what, "wait-for") == 0) {
    do_wait_for_child(argv[2]);
  } else if (strcmp(what, "spawn-no-mpi") == 0) {
    program = "true";
    do_wait_for_child("");
  } else if (strcmp(what, "die-with-children") == 0) {
    do_die_with_children();
  } else if (strcmp(what, "finish") == 0) {
    do_finish(argv[2], argv[3]);
  } else if (strcmp(what, "stay") == 0) {
    do_stay(argv[2]);
  } else if (strcmp(what, "visit-and-die") == 0) {
    do_visit_and_die(argv[2]);
  } else if (strcmp(what, "any-of-two") == 0) {
    do_any_of_two();
  } else if (strcmp(what, "cancel-late") == 0) {
    do_cancel_late();
  } else if (strcmp(what, "probe-for") == 0) {
    do_probe_for_child(argv[2]);
  } else if (strcmp(what, "wait-for-any-of") == 0) {
    do_wait_for_any_of_child(argv[2]);
  } else if (strcmp(what, "time-out") == 0) {
    do_time_out();
  } else if (strcmp(what, "detach") == 0) {
    do_detach();
  } else if (strcmp(what, "leave-unfinalized") == 0) {
    do_leave_unfinalized();
  } else {
    CHECK(0, "unknown part \"%s\"", what);
  }
  MPI_Finalize();
  if (parent != MPI_COMM_NULL && strcmp(what, "finishing-child") == 0 && rank == 0) note(argv[3], "child\n");
  return 0;
}

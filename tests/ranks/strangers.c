/* Jobs that were connected and are no more, or still are: how one of them ends, and whether the others go on.
   A process that is not ended says "goes on" on standard output. The first word says which of the scenes
   below is played, by those that were started with it; the spawned ones are this program again.
   test_dynamic.py runs it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int rank, size;
static const char* program;

static void pause_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static MPI_Comm spawn(char** words, int count, MPI_Comm comm) {
  MPI_Comm inter;
  MPI_Comm_spawn(program, words, count, MPI_INFO_NULL, 0, comm, &inter, MPI_ERRCODES_IGNORE);
  return inter;
}

static void say(const char* who) {
  printf("%s goes on\n", who);
  fflush(stdout);
}

static void die(const char* how) {
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
  if (strcmp(how, "segv") == 0) raise(SIGSEGV);
  if (strcmp(how, "exit") == 0) exit(9);
  if (strcmp(how, "signal") == 0) raise(SIGTERM);
}

/* Waits until the process has ended, 20 s at most (on another host its number may be another's here). mpiexec
   knows it then, or is about to. */
static void await_end(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", (int)pid); /* empty, or gone, when it is a zombie */
  for (int look = 0; look < 2000; ++look, pause_ms(10)) {
    char byte;
    FILE* file = fopen(path, "r");
    const size_t read = file != NULL ? fread(&byte, 1, 1, file) : 0;
    if (file != NULL) fclose(file);
    if (read == 0) break;
  }
  pause_ms(500);
}

/* How two sides part before one of them dies. */
static void part(MPI_Comm* inter, const char* parting, int is_child) {
  MPI_Comm merged;
  if (strcmp(parting, "merged") == 0) {
    MPI_Intercomm_merge(*inter, is_child, &merged);
    MPI_Comm_disconnect(inter);
    *inter = merged;
  }
  if (strcmp(parting, "free") == 0) MPI_Comm_free(inter);
  if (strcmp(parting, "disconnect") == 0 || strcmp(parting, "merged") == 0) MPI_Comm_disconnect(inter);
}

/* The end of both sides' part: `dies` of them does so, and the other one sees it. */
static void part_and_die(MPI_Comm inter, const char* parting, const char* how, int is_child, int dies) {
  int others;
  MPI_Comm_remote_size(inter, &others);
  int mine = (int)getpid(), *theirs = malloc(sizeof(int) * (size_t)others);
  MPI_Allgather(&mine, 1, MPI_INT, theirs, 1, MPI_INT, inter);
  part(&inter, parting, is_child);
  if (dies) {
    MPI_Barrier(MPI_COMM_WORLD); /* all of this side have parted */
    if (rank == size - 1) die(how);
    pause_ms(60000);
  }
  for (int i = 0; i < others; ++i) await_end(theirs[i]);
  free(theirs);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) say(is_child ? "child" : "parent");
}

static void either(char** words) { /* who dies, how, after which parting */
  char* child[] = {"either", words[0], words[1], words[2], NULL};
  MPI_Comm inter = spawn(child, 2, MPI_COMM_WORLD);
  part_and_die(inter, words[2], words[1], 0, strcmp(words[0], "parent") == 0);
}

/* Three generations of one rank each; the middle one parts from one of its neighbours, or from none, and the
   youngest one dies. */
static void three(const char* parts_from) {
  char* child[] = {"three-middle", (char*)parts_from, NULL};
  MPI_Comm inter = spawn(child, 1, MPI_COMM_SELF);
  int pid;
  MPI_Bcast(&pid, 1, MPI_INT, 0, inter);
  if (strcmp(parts_from, "parent") == 0) MPI_Comm_disconnect(&inter);
  await_end(pid);
  say("oldest");
}

static void three_middle(MPI_Comm parent, const char* parts_from) {
  char* youngest[] = {"three-youngest", NULL};
  MPI_Comm inter = spawn(youngest, 1, MPI_COMM_SELF);
  int pid;
  MPI_Bcast(&pid, 1, MPI_INT, 0, inter);
  MPI_Bcast(&pid, 1, MPI_INT, MPI_ROOT, parent);
  if (strcmp(parts_from, "parent") == 0) MPI_Comm_disconnect(&parent);
  MPI_Barrier(inter);
  if (strcmp(parts_from, "child") == 0) MPI_Comm_disconnect(&inter);
  await_end(pid);
  say("middle");
}

static void three_youngest(MPI_Comm parent) {
  int pid = (int)getpid();
  MPI_Bcast(&pid, 1, MPI_INT, MPI_ROOT, parent);
  MPI_Barrier(parent);
  pause_ms(300); /* the others part from one another meanwhile */
  MPI_Abort(MPI_COMM_WORLD, 9);
}

/* Two spawned jobs, strangers by then, meet at a port, part once more, and one of them dies. */
static void meet_again(void) {
  char *server[] = {"again-server", NULL}, *client[] = {"again-client", NULL};
  MPI_Comm first = spawn(server, 1, MPI_COMM_SELF), second = spawn(client, 1, MPI_COMM_SELF);
  char port[MPI_MAX_PORT_NAME] = "";
  int pid;
  MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, first, MPI_STATUS_IGNORE);
  MPI_Send(port, sizeof port, MPI_CHAR, 0, 0, second);
  MPI_Recv(&pid, 1, MPI_INT, 0, 0, second, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&first);
  MPI_Comm_disconnect(&second);
  await_end(pid);
  say("parent");
}

static void again_server(MPI_Comm parent) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  int pid;
  MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Send(port, sizeof port, MPI_CHAR, 0, 0, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  MPI_Recv(&pid, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&inter);
  await_end(pid);
  say("server");
}

static void again_client(MPI_Comm parent) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  int pid = (int)getpid();
  MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, parent, MPI_STATUS_IGNORE);
  MPI_Send(&pid, 1, MPI_INT, 0, 0, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  MPI_Send(&pid, 1, MPI_INT, 0, 0, inter);
  MPI_Comm_disconnect(&inter);
  MPI_Abort(MPI_COMM_WORLD, 9);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  program = argv[0];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&parent);
  const char* scene = argv[1];
  if (strcmp(scene, "either") == 0) {
    if (parent == MPI_COMM_NULL)
      either(argv + 2);
    else
      part_and_die(parent, argv[4], argv[3], 1, strcmp(argv[2], "child") == 0);
  }
  if (strcmp(scene, "three") == 0) three(argv[2]);
  if (strcmp(scene, "three-middle") == 0) three_middle(parent, argv[2]);
  if (strcmp(scene, "three-youngest") == 0) three_youngest(parent);
  if (strcmp(scene, "meet-again") == 0) meet_again();
  if (strcmp(scene, "again-server") == 0) again_server(parent);
  if (strcmp(scene, "again-client") == 0) again_client(parent);
  MPI_Finalize();
  return 0;
}

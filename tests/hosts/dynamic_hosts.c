/* Jobs on several hosts that start and meet others. Each part prints "PART: right", or fails.

   spawn N [HOSTS]   spawns N children, on the hosts of info's `host` if given; each says where it is
   multiple A B      two children on host A and one on host B, of two programs
   unknown           a host that is none of the job's, and a program that is not there
   unreachable       node2 has no sshd
   names             the first rank publishes a name, the last one looks it up and connects
   serve N           prints a port's name and accepts N visits there
   visit PORT        connects there, and talks; visit-closed: is told that it is not there any more
   visit-and-die PORT, stay   the visitor is killed; the server hears of it in MPI_Finalize
   serve-and-wait, visit-and-wait PORT   they wait for each other's messages, which never come
   join-serve, join-visit ADDRESS       two processes with a socket in common, at TCP port 5000
   wait-for-killed HOST       a child there is killed while its parents wait for it
   wait HOST         children there do nothing, for ever; all say "waiting" */
#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG 50000 /* ints: more than a packet */
#define CHECK(good, ...)                                     \
  do {                                                       \
    if (!(good)) {                                           \
      fprintf(stderr, "line %d, rank %d: ", __LINE__, rank); \
      fprintf(stderr, __VA_ARGS__);                          \
      fputc('\n', stderr);                                   \
      MPI_Abort(MPI_COMM_WORLD, 3);                          \
    }                                                        \
  } while (0)

static int rank, size;
static const char* program;

/* All on either side send each other an int and a long message; then all sum over both sides. */
static void talk(MPI_Comm inter, int is_child) {
  int local, others;
  MPI_Comm_size(inter, &local);
  MPI_Comm_remote_size(inter, &others);
  int own;
  MPI_Comm_rank(inter, &own);
  int* out = malloc(sizeof(int) * LONG);
  int* in = malloc(sizeof(int) * LONG);
  for (int i = 0; i < LONG; ++i) out[i] = i * 7 + own;
  for (int other = 0; other < others; ++other) {
    int number = own, theirs = -1;
    MPI_Sendrecv(&number, 1, MPI_INT, other, 1, &theirs, 1, MPI_INT, other, 1, inter, MPI_STATUS_IGNORE);
    CHECK(theirs == other, "%d from %d", theirs, other);
    MPI_Sendrecv(out, LONG, MPI_INT, other, 2, in, LONG, MPI_INT, other, 2, inter, MPI_STATUS_IGNORE);
    for (int i = 0; i < LONG; ++i) CHECK(in[i] == i * 7 + other, "in[%d] = %d from %d", i, in[i], other);
  }
  free(out);
  free(in);
  MPI_Comm both;
  MPI_Intercomm_merge(inter, is_child, &both);
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
  CHECK(sum == local + others, "a sum of %d over %d and %d", sum, local, others);
  MPI_Comm_free(&both);
}

/* The children's places come to rank 0. */
static void tell_places(MPI_Comm inter, int is_child) {
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  int length, children;
  MPI_Comm_remote_size(inter, &children);
  if (is_child) {
    MPI_Get_processor_name(host, &length);
    MPI_Send(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, 3, inter);
  }
  for (int child = 0; child < children && !is_child && rank == 0; ++child) {
    MPI_Recv(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, child, 3, inter, MPI_STATUS_IGNORE);
    printf("child %d on %s\n", child, host);
  }
}

static MPI_Info on_host(const char* host) {
  MPI_Info info = MPI_INFO_NULL;
  if (host == NULL) return info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "host", host);
  return info;
}

static MPI_Comm spawn(const char* part, int count, const char* host) {
  MPI_Comm inter;
  MPI_Info info = on_host(host);
  char* words[] = {(char*)part, NULL};
  MPI_Comm_spawn(program, words, count, info, size - 1, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return inter;
}

static void do_spawn(int count, const char* host) {
  int* universe;
  int flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
  MPI_Comm inter = spawn("child", count, host);
  tell_places(inter, 0);
  talk(inter, 0);
  MPI_Comm_disconnect(&inter);
  if (rank == 0) printf("universe of %d\n", flag ? *universe : -1);
}

static void do_multiple(const char* first, const char* second) {
  char* commands[] = {(char*)program, (char*)program};
  char* words[] = {"child", NULL};
  char** arguments[] = {words, words};
  int counts[] = {2, 1}, codes[3] = {-1, -1, -1};
  MPI_Info infos[] = {on_host(first), on_host(second)};
  MPI_Comm inter;
  MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &inter, codes);
  for (int i = 0; i < 3; ++i) CHECK(codes[i] == MPI_SUCCESS, "code %d of child %d", codes[i], i);
  tell_places(inter, 0);
  talk(inter, 0);
  MPI_Comm_disconnect(&inter);
  MPI_Info_free(&infos[0]);
  MPI_Info_free(&infos[1]);
}

static void fail_to_spawn(const char* command, const char* host, const char* reason) {
  MPI_Comm inter;
  MPI_Info info = on_host(host);
  int codes[2] = {0, 0}, class, length;
  char text[MPI_MAX_ERROR_STRING] = "";
  int code = MPI_Comm_spawn(command, MPI_ARGV_NULL, 2, info, 0, MPI_COMM_WORLD, &inter, codes);
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  CHECK(class == MPI_ERR_SPAWN && strstr(text, reason) != NULL, "class %d: %s", class, text);
  for (int i = 0; i < 2; ++i) {
    MPI_Error_class(codes[i], &class);
    CHECK(class == MPI_ERR_SPAWN, "class %d of child %d", class, i);
  }
  MPI_Info_free(&info);
}

static void do_unknown(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  fail_to_spawn(program, "nobody", "nobody is none of this job's hosts (node1, node2)");
  fail_to_spawn("/no/such/program", "node2", "cannot run '/no/such/program' for rank 0: No such file");
  fail_to_spawn("/no/such/program", "node1,node2", "cannot run '/no/such/program' for rank 0: No such file");
  do_spawn(2, "node2");
}

static void do_unreachable(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  fail_to_spawn(program, "node2", "cannot start ranks on host 'node2': ssh ended with status 255");
  fail_to_spawn(program, "node1,node2", "cannot start ranks on host 'node2'");
  do_spawn(2, "node1");
}

static void visit(const char* port) {
  MPI_Comm inter;
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  talk(inter, 1);
  MPI_Comm_disconnect(&inter);
}

static void do_names(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("between hosts", MPI_INFO_NULL, port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  } else if (rank == size - 1) {
    MPI_Lookup_name("between hosts", MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  }
  if (rank == 0 || rank == size - 1) {
    int own = rank, theirs;
    MPI_Sendrecv(&own, 1, MPI_INT, 0, 0, &theirs, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    CHECK(theirs == size - 1 - rank, "%d", theirs);
    MPI_Comm_disconnect(&inter);
  }
  if (rank == 0) {
    MPI_Unpublish_name("between hosts", MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int class;
  MPI_Error_class(MPI_Lookup_name("between hosts", MPI_INFO_NULL, port), &class);
  CHECK(class == MPI_ERR_NAME, "class %d for a name that was withdrawn", class);
}

static void do_serve(int times) {
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    printf("%s\n", port);
    fflush(stdout);
  }
  for (int i = 0; i < times; ++i) {
    MPI_Comm inter;
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
  }
  if (rank == 0) MPI_Close_port(port);
}

static void do_visit_closed(const char* port) {
  MPI_Comm inter;
  int class, length;
  char text[MPI_MAX_ERROR_STRING] = "";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  CHECK(class == MPI_ERR_PORT, "class %d: %s", class, text);
  if (rank == 0) printf("%s\n", text);
}

static void meet_and_stay(const char* port, int is_server, int waits) {
  char own[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  if (is_server) {
    MPI_Open_port(MPI_INFO_NULL, own);
    printf("%s\n", own);
    fflush(stdout);
    MPI_Comm_accept(own, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  } else {
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  }
  talk(inter, !is_server);
  if (waits) {
    if (!is_server) puts("waiting");
    fflush(stdout);
    MPI_Recv(NULL, 0, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE);
  }
  if (!is_server) raise(SIGKILL);
}

/* The server's end of a connection where there is no address. */
static int connected_socket(const char* address) {
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(5000)};
  int one = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (address == NULL) {
    setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CHECK(bind(one, (struct sockaddr*)&place, sizeof place) == 0 && listen(one, 1) == 0, "cannot listen");
    puts("listening");
    fflush(stdout);
    int other = accept(one, NULL, NULL);
    close(one);
    return other;
  }
  inet_pton(AF_INET, address, &place.sin_addr);
  CHECK(connect(one, (struct sockaddr*)&place, sizeof place) == 0, "cannot connect to %s", address);
  return one;
}

static void do_join(const char* address) {
  MPI_Comm inter;
  int fd = connected_socket(address);
  MPI_Comm_join(fd, &inter);
  talk(inter, address != NULL);
  MPI_Comm_disconnect(&inter);
  close(fd);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  program = argv[0];
  const char* part = argc > 1 ? argv[1] : "";
  const char* word = argc > 2 ? argv[2] : NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&parent);
  const int is_child = parent != MPI_COMM_NULL;
  if (strcmp(part, "child") == 0) {
    tell_places(parent, 1);
    talk(parent, 1);
    MPI_Comm_disconnect(&parent);
  } else if (strcmp(part, "killed-child") == 0) {
    talk(parent, 1);
    if (rank == 0) raise(SIGKILL);
    MPI_Recv(NULL, 0, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE);
  } else if (strcmp(part, "waiting-child") == 0) {
    talk(parent, 1);
    puts("waiting");
    fflush(stdout);
    MPI_Recv(NULL, 0, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE);
  } else if (strcmp(part, "spawn") == 0) {
    do_spawn(atoi(word), argc > 3 ? argv[3] : NULL);
  } else if (strcmp(part, "multiple") == 0) {
    do_multiple(word, argv[3]);
  } else if (strcmp(part, "unknown") == 0) {
    do_unknown();
  } else if (strcmp(part, "unreachable") == 0) {
    do_unreachable();
  } else if (strcmp(part, "names") == 0) {
    do_names();
  } else if (strcmp(part, "serve") == 0) {
    do_serve(atoi(word));
  } else if (strcmp(part, "visit") == 0) {
    visit(word);
  } else if (strcmp(part, "join-serve") == 0 || strcmp(part, "join-visit") == 0) {
    do_join(word);
  } else if (strcmp(part, "visit-closed") == 0) {
    do_visit_closed(word);
  } else if (strcmp(part, "stay") == 0 || strcmp(part, "visit-and-die") == 0) {
    meet_and_stay(word, strcmp(part, "stay") == 0, 0);
  } else if (strcmp(part, "serve-and-wait") == 0 || strcmp(part, "visit-and-wait") == 0) {
    meet_and_stay(word, strcmp(part, "serve-and-wait") == 0, 1);
  } else if (strcmp(part, "wait-for-killed") == 0 || strcmp(part, "wait") == 0) {
    MPI_Comm inter = spawn(part[4] == '-' ? "killed-child" : "waiting-child", 2, word);
    talk(inter, 0);
    MPI_Recv(NULL, 0, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE);
  }
  if (rank == 0 && !is_child) printf("%s: right\n", part);
  MPI_Finalize();
  return 0;
}

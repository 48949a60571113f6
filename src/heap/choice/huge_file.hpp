// A memory file whose pages can be huge where the system gives shared memory none.
//
// The setting shmem_enabled of transparent huge pages is that of memfds, and most systems leave it at
// `never`. A tmpfs that is mounted has an option of its own (huge=advise). So a short-lived child with its
// own mount namespace, and where it needs one its own user namespace, mounts a tmpfs that nobody else sees
// and makes the file in it; the descriptor is this process's, and the file is all that is left of it. The
// process itself enters no namespace.
//
// It cannot be had where users may not make namespaces (some containers and distributions), and there are no
// huge pages with shmem_enabled=deny.
#pragma once

namespace tasuki::heap {

/// Makes an empty file of that name, already unlinked, close-on-exec, that only this user may open: its pages
/// are huge where madvise(MADV_HUGEPAGE) asks for it. Returns its descriptor, or -1.
int make_huge_file(const char* name);

/// Whether such a file gets huge pages indeed: one is made and given back.
bool can_have_huge_file();

}  // namespace tasuki::heap

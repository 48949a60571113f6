// MPI chapter 14: files. Signatures by bindgen/README.md's rules; what the binding checks is not checked
// again.
//
// Errors go to the file's error handler, those of open, delete and MPI_Register_datarep to that of
// MPI_FILE_NULL: see binding/call/call.hpp.
//
// The calls are in calls/: open_close.cpp, whole_file.cpp, views_and_pointers.cpp, data_access.cpp.
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "io/file/file.hpp"
#include "object/comm.hpp"
#include "p2p/request.hpp"

namespace tasuki::api {

// --- 14.2: files as a whole
Code file_open(Process& process, Comm* comm, const char* filename, int amode, Info* info, File** fh);
Code file_close(Process& process, File** fh);
Code file_delete(Process& process, const char* filename, Info* info);
Code file_set_size(Process& process, File* fh, Offset size);
Code file_preallocate(Process& process, File* fh, Offset size);
Code file_get_size(Process& process, File* fh, Offset* size);
Code file_get_group(Process& process, File* fh, Group** group);
Code file_get_amode(Process& process, File* fh, int* amode);
Code file_set_info(Process& process, File* fh, Info* info);
Code file_get_info(Process& process, File* fh, Info** info_used);

// --- 14.3: views
Code file_set_view(Process& process, File* fh, Offset disp, Datatype* etype, Datatype* filetype,
                   const char* datarep, Info* info);
Code file_get_view(Process& process, File* fh, Offset* disp, Datatype** etype, Datatype** filetype,
                   std::string* datarep);

// --- 14.4.3, 14.4.4: file pointers
Code file_seek(Process& process, File* fh, Offset offset, int whence);
Code file_get_position(Process& process, File* fh, Offset* offset);
Code file_get_byte_offset(Process& process, File* fh, Offset offset, Offset* disp);
Code file_seek_shared(Process& process, File* fh, Offset offset, int whence);
Code file_get_position_shared(Process& process, File* fh, Offset* offset);

// --- 14.5: representations
Code file_get_type_extent(Process& process, File* fh, Datatype* datatype, Count* extent);
Code register_datarep(Process& process, const char* datarep, AnyFunction read_conversion_fn,
                      AnyFunction write_conversion_fn, AnyFunction dtype_file_extent_fn, void* extra_state,
                      bool wide);

// --- 14.6: consistency
Code file_set_atomicity(Process& process, File* fh, bool flag);
Code file_get_atomicity(Process& process, File* fh, bool* flag);
Code file_sync(Process& process, File* fh);

// --- 14.7: error handlers. A null file is MPI_FILE_NULL.
Code file_set_errhandler(Process& process, File* file, Errhandler* errhandler);
Code file_get_errhandler(Process& process, File* file, Errhandler** errhandler);
Code file_call_errhandler(Process& process, File* fh, int errorcode);

// --- 14.4: data access
Code file_read_at(Process& process, File* fh, Offset offset, void* buf, Count count, Datatype* datatype,
                  Status* status);
Code file_iread_at(Process& process, File* fh, Offset offset, void* buf, Count count, Datatype* datatype,
                   Request** request);
Code file_read_at_all(Process& process, File* fh, Offset offset, void* buf, Count count, Datatype* datatype,
                      Status* status);
Code file_iread_at_all(Process& process, File* fh, Offset offset, void* buf, Count count, Datatype* datatype,
                       Request** request);
Code file_read_at_all_begin(Process& process, File* fh, Offset offset, void* buf, Count count,
                            Datatype* datatype);
Code file_read_at_all_end(Process& process, File* fh, void* buf, Status* status);
Code file_read(Process& process, File* fh, void* buf, Count count, Datatype* datatype, Status* status);
Code file_iread(Process& process, File* fh, void* buf, Count count, Datatype* datatype, Request** request);
Code file_read_all(Process& process, File* fh, void* buf, Count count, Datatype* datatype, Status* status);
Code file_iread_all(Process& process, File* fh, void* buf, Count count, Datatype* datatype,
                    Request** request);
Code file_read_all_begin(Process& process, File* fh, void* buf, Count count, Datatype* datatype);
Code file_read_all_end(Process& process, File* fh, void* buf, Status* status);
Code file_read_shared(Process& process, File* fh, void* buf, Count count, Datatype* datatype, Status* status);
Code file_iread_shared(Process& process, File* fh, void* buf, Count count, Datatype* datatype,
                       Request** request);
Code file_read_ordered(Process& process, File* fh, void* buf, Count count, Datatype* datatype,
                       Status* status);
Code file_read_ordered_begin(Process& process, File* fh, void* buf, Count count, Datatype* datatype);
Code file_read_ordered_end(Process& process, File* fh, void* buf, Status* status);
Code file_write_at(Process& process, File* fh, Offset offset, const void* buf, Count count,
                   Datatype* datatype, Status* status);
Code file_iwrite_at(Process& process, File* fh, Offset offset, const void* buf, Count count,
                    Datatype* datatype, Request** request);
Code file_write_at_all(Process& process, File* fh, Offset offset, const void* buf, Count count,
                       Datatype* datatype, Status* status);
Code file_iwrite_at_all(Process& process, File* fh, Offset offset, const void* buf, Count count,
                        Datatype* datatype, Request** request);
Code file_write_at_all_begin(Process& process, File* fh, Offset offset, const void* buf, Count count,
                             Datatype* datatype);
Code file_write_at_all_end(Process& process, File* fh, const void* buf, Status* status);
Code file_write(Process& process, File* fh, const void* buf, Count count, Datatype* datatype, Status* status);
Code file_iwrite(Process& process, File* fh, const void* buf, Count count, Datatype* datatype,
                 Request** request);
Code file_write_all(Process& process, File* fh, const void* buf, Count count, Datatype* datatype,
                    Status* status);
Code file_iwrite_all(Process& process, File* fh, const void* buf, Count count, Datatype* datatype,
                     Request** request);
Code file_write_all_begin(Process& process, File* fh, const void* buf, Count count, Datatype* datatype);
Code file_write_all_end(Process& process, File* fh, const void* buf, Status* status);
Code file_write_shared(Process& process, File* fh, const void* buf, Count count, Datatype* datatype,
                       Status* status);
Code file_iwrite_shared(Process& process, File* fh, const void* buf, Count count, Datatype* datatype,
                        Request** request);
Code file_write_ordered(Process& process, File* fh, const void* buf, Count count, Datatype* datatype,
                        Status* status);
Code file_write_ordered_begin(Process& process, File* fh, const void* buf, Count count, Datatype* datatype);
Code file_write_ordered_end(Process& process, File* fh, const void* buf, Status* status);

}  // namespace tasuki::api

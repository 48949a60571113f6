// The functions of MPI_T (MPI 15.3) as the binding calls them, by rules of their own
// (bindgen/tool_entry_body.py): handles are numbers, a string comes without its length, any OUT argument of
// an info function may be null in MPI but not here, save those of info objects. They return an error class
// and record no text: no error handler hears of it. The binding checks that MPI_T is initialised and that
// addresses are not null; it holds Tool::mutex.
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "tool/handles.hpp"

namespace tasuki::api {

// Start and end: environment.cpp.
Code t_init_thread(Process& process, int required, int* provided);
Code t_finalize(Process& process);

// Enumerations: category.cpp.
Code t_enum_get_info(Process& process, ToolHandle enumtype, int* num, std::string* name);
Code t_enum_get_item(Process& process, ToolHandle enumtype, int indx, int* value, std::string* name);

// Control variables: control.cpp.
Code t_cvar_get_num(Process& process, int* num_cvar);
Code t_cvar_get_info(Process& process, int cvar_index, std::string* name, int* verbosity, Datatype** datatype,
                     ToolHandle* enumtype, std::string* desc, int* bind, int* scope);
Code t_cvar_get_index(Process& process, const char* name, int* cvar_index);
Code t_cvar_handle_alloc(Process& process, int cvar_index, ToolHandle* handle, int* count);
Code t_cvar_handle_free(Process& process, ToolHandle* handle);
Code t_cvar_read(Process& process, ToolHandle handle, void* buf);
Code t_cvar_write(Process& process, ToolHandle handle, const void* buf);

// Performance variables: performance.cpp.
Code t_pvar_get_num(Process& process, int* num_pvar);
Code t_pvar_get_info(Process& process, int pvar_index, std::string* name, int* verbosity, int* var_class,
                     Datatype** datatype, ToolHandle* enumtype, std::string* desc, int* bind, int* readonly,
                     int* continuous, int* atomic);
Code t_pvar_get_index(Process& process, const char* name, int var_class, int* pvar_index);
Code t_pvar_session_create(Process& process, ToolHandle* pe_session);
Code t_pvar_session_free(Process& process, ToolHandle* pe_session);
/// `obj_handle`: the communicator that a variable is bound to; null where it is bound to none, or where the
/// user's is no valid one.
Code t_pvar_handle_alloc(Process& process, ToolHandle pe_session, int pvar_index, Comm* obj_handle,
                         ToolHandle* handle, int* count);
Code t_pvar_handle_free(Process& process, ToolHandle pe_session, ToolHandle* handle);
Code t_pvar_start(Process& process, ToolHandle pe_session, ToolHandle handle);
Code t_pvar_stop(Process& process, ToolHandle pe_session, ToolHandle handle);
Code t_pvar_read(Process& process, ToolHandle pe_session, ToolHandle handle, void* buf);
Code t_pvar_write(Process& process, ToolHandle pe_session, ToolHandle handle, const void* buf);
Code t_pvar_reset(Process& process, ToolHandle pe_session, ToolHandle handle);
Code t_pvar_readreset(Process& process, ToolHandle pe_session, ToolHandle handle, void* buf);

// Events and their sources: event.cpp. `cb_safety` is a Safety.
Code t_source_get_num(Process& process, int* num_sources);
Code t_source_get_info(Process& process, int source_index, std::string* name, std::string* desc,
                       int* ordering, Count* ticks_per_second, Count* max_ticks, Info** info);
Code t_source_get_timestamp(Process& process, int source_index, Count* timestamp);
Code t_event_get_num(Process& process, int* num_events);
/// `num_elements` of the two arrays, which may be null, are filled; it becomes the number of all.
Code t_event_get_info(Process& process, int event_index, std::string* name, int* verbosity,
                      Datatype** array_of_datatypes, Aint* array_of_displacements, int* num_elements,
                      ToolHandle* enumtype, Info** info, std::string* desc, int* bind);
Code t_event_get_index(Process& process, const char* name, int* event_index);
Code t_event_handle_alloc(Process& process, int event_index, Info* info, ToolHandle* event_registration);
Code t_event_handle_set_info(Process& process, ToolHandle event_registration, Info* info);
Code t_event_handle_get_info(Process& process, ToolHandle event_registration, Info** info_used);
Code t_event_register_callback(Process& process, ToolHandle event_registration, int cb_safety, Info* info,
                               void* user_data, AnyFunction event_cb_function);
Code t_event_callback_set_info(Process& process, ToolHandle event_registration, int cb_safety, Info* info);
Code t_event_callback_get_info(Process& process, ToolHandle event_registration, int cb_safety,
                               Info** info_used);
Code t_event_handle_free(Process& process, ToolHandle event_registration, void* user_data,
                         AnyFunction free_cb_function);
Code t_event_set_dropped_handler(Process& process, ToolHandle event_registration,
                                 AnyFunction dropped_cb_function);
Code t_event_read(Process& process, ToolHandle event_instance, int element_index, void* buffer);
Code t_event_copy(Process& process, ToolHandle event_instance, void* buffer);
Code t_event_get_timestamp(Process& process, ToolHandle event_instance, Count* event_timestamp);
Code t_event_get_source(Process& process, ToolHandle event_instance, int* source_index);

// Categories: category.cpp.
Code t_category_get_num(Process& process, int* num_cat);
Code t_category_get_info(Process& process, int cat_index, std::string* name, std::string* desc,
                         int* num_cvars, int* num_pvars, int* num_categories);
Code t_category_get_num_events(Process& process, int cat_index, int* num_events);
Code t_category_get_index(Process& process, const char* name, int* cat_index);
Code t_category_get_cvars(Process& process, int cat_index, int len, int* indices);
Code t_category_get_pvars(Process& process, int cat_index, int len, int* indices);
Code t_category_get_events(Process& process, int cat_index, int len, int* indices);
Code t_category_get_categories(Process& process, int cat_index, int len, int* indices);
Code t_category_changed(Process& process, int* update_number);

}  // namespace tasuki::api

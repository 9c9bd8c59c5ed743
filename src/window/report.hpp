#pragma once
// SILL_STATS=1: a table of the program's storage windows, printed by rank 0 at MPI_Finalize.
#include "window/window.hpp"

namespace sill::window {

// Notes the numbers of a window that is about to go. Local.
void note_window(Window& window);

// Prints the table of all windows noted and still open. Collective over MPI_COMM_WORLD; nothing without SILL_STATS=1.
void print_report();

}  // namespace sill::window

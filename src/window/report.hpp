#pragma once
// SILL_STATS=1: a table of the program's storage windows, printed at MPI_Finalize.
#include "window/window.hpp"

namespace sill::window {

// Notes the numbers of a window that is about to go. Local.
void note_window(Window& window);

// Prints the table of all windows noted and still open; nothing without SILL_STATS=1. `together`: rank 0 those of all
// ranks, collective over MPI_COMM_WORLD; else each rank its own, local.
void print_report(bool together);

}  // namespace sill::window

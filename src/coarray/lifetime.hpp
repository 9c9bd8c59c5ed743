#pragma once
// Begin and end of a coarray program, as far as persistence goes.
namespace sill::coarray {

// Initializes libcaf if that has not been done: constructors register static coarrays before main() begins.
void start();

// A kept coarray has been registered: initialisers are to run, of the compiler's making, and in a restored coarray
// their stores go to private pages.
void expect_initialisers();
// Initialisers have run: what they wrote to restored coarrays is dropped. The compiler synchronizes after them, so to
// be called there, and when main() begins. Local.
void settle();

// Whether all coarrays kept so far were restored, and there is one.
bool restored();

}  // namespace sill::coarray

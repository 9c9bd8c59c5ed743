"""MPIs of this machine, their launchers and programs, and what of Sill is there for each."""

"""The tables that pass from step to step, their files, and the errors that say what is wrong with one."""

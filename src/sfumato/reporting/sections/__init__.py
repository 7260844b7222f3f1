"""The sections of a report, one module per section: a function of the inputs that returns a `Section`, or None if its
inputs are missing. Sentences state the numbers of this data with 95% intervals."""

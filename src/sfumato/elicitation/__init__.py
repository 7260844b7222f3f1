"""Elicit: people to Annotations. A study is served to people, their answers are kept, and exported as a table."""

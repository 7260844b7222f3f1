"""study.toml: a Study as a researcher writes it, read with every mistake and its line, and begun from a template."""

from sfumato.study.study_file import Draft, read_draft, read_study, study_path

__all__ = ["Draft", "read_draft", "read_study", "study_path"]

"""The study and its file, `study.toml`: reading with all mistakes, and templates for new studies."""

from sfumato.study.study_file import Draft, read_draft, read_study, study_path

__all__ = ["Draft", "read_draft", "read_study", "study_path"]

"""The questions of a datasheet, in the seven parts of Gebru et al. (2021), *Datasheets for datasets*, Communications of
the ACM 64(12), reworded for soft labels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DatasheetQuestion:
    """A question. The author's answer is matched by `id`; `help` says what to write.

    With `person`, only the author can answer it completely.
    """

    id: str
    text: str
    help: str
    person: bool = True


@dataclass(frozen=True)
class DatasheetPart:
    """A part of the datasheet."""

    title: str
    questions: tuple[DatasheetQuestion, ...]


TEXTS = {
    "Motivation": {
        "purpose": "What was the data set made for?",
        "makers": "Who made it, and on whose behalf?",
        "funding": "Who paid for it?",
    },
    "Composition": {
        "items": "What are the items, and how many are there?",
        "classes": "Which classes are there, and how frequent are they?",
        "labels": "What does a label mean, and how was it made from answers?",
        "doubt": "How uncertain are the labels, and where does the uncertainty come from?",
        "answers-per-item": "How many annotators are there per label?",
        "missing": "Is anything missing?",
        "sampling": "Are the items complete, or a sample?",
        "splits": "Are there recommended splits?",
        "duplicates": "Are there errors, duplicates or other redundancies?",
        "outside": "Does it depend on external resources, such as links or another data set?",
        "sensitive": "Could items be offensive, or contain private information?",
    },
    "Collection": {
        "asked": "How were people asked?",
        "people": "Who answered, and how were they recruited?",
        "pay": "What were they paid?",
        "when": "When was it collected, and how long did an answer take?",
        "agreement": "How much do annotators agree?",
        "set-aside": "Which annotators were excluded, and why?",
        "consent": "Did people give informed consent?",
        "ethics": "Was it reviewed by an ethics board?",
    },
    "Preprocessing": {
        "steps": "How were answers processed into labels?",
        "raw": "Are the raw answers kept?",
        "software": "Which software was used?",
    },
    "Uses": {
        "used": "What has it been used for?",
        "suited": "What else could it be used for?",
        "unsuited": "What should it not be used for?",
        "harm": "Could the way it was made cause harm?",
    },
    "Distribution": {
        "where": "Where, when and how is it distributed?",
        "licence": "What is the license?",
        "rights": "Do others have rights in the items?",
    },
    "Maintenance": {
        "contact": "Who maintains it, and how can they be contacted?",
        "updates": "Will it be updated?",
        "versions": "Are older versions kept?",
        "contributing": "Can others contribute?",
        "withdrawal": "How can an annotator have their answers removed?",
    },
}
"""The questions by part and id."""
HELP = {
    "purpose": "state the task or gap it was made for, and why uncertainty matters there",
    "makers": "name the people or the team, and their institution",
    "funding": "name the funder and the grant, or state that there was none",
    "items": "describe an item in one sentence",
    "classes": "list the classes and their shares",
    "labels": "state whether labels estimate how people judge or what is true, and which aggregator made them",
    "doubt": "give --beliefs or --counts to separate uncertainty within and between annotators",
    "answers-per-item": "state the number of annotators per item",
    "missing": "state what a reader would expect that is missing, and why",
    "sampling": "state where the items come from, how they were selected, and what they may not represent",
    "splits": "name them with reasons, or state that there are none",
    "duplicates": "give --inputs to count duplicates, and state other known errors",
    "outside": "state what users must get elsewhere and whether it will stay available, or that nothing is needed",
    "sensitive": "state whether people can be recognized, whether consent covers that, and what may be offensive",
    "asked": "give --study, or state the prompt, the question type and the instructions",
    "people": "state where annotators were recruited and what is known about them: language, country, age, training",
    "pay": "state the pay per batch or hour, and how it compares with the local minimum wage",
    "when": "give the dates",
    "agreement": "give --beliefs or --counts to compute agreement",
    "set-aside": "give --screening (output of sfumato screen), or state whose answers "
    "were not used, or that all were used",
    "consent": "state what people were informed about, how they agreed, and how they can withdraw",
    "ethics": "name the board and the decision, or state why there was no review",
    "steps": "name the labeler and its settings, and all manual corrections, merges and exclusions",
    "raw": "state where the raw answers are kept, and for whom they are accessible",
    "software": "name other programs and versions",
    "used": "list papers and systems that used it, or state that there are none",
    "suited": "name tasks that benefit from uncertainty in labels",
    "unsuited": "state which groups these annotators do not represent, and which decisions must not be based on it",
    "harm": "state which groups of people or items are judged unfairly or missing, and what users can do about it",
    "where": "give the address, the date and the format, and a DOI if there is one",
    "licence": "name the license of the labels, and that of the items if different",
    "rights": "name the owners, and what they allow",
    "contact": "give a name and a permanent address",
    "updates": "state how often, by whom, and how users are informed",
    "versions": "state whether they stay available, and under which name",
    "contributing": "state how to contribute answers, items or corrections, and how they are checked",
    "withdrawal": "state whom to ask, with which pseudonym, and until when",
}
"""What to write, by id."""
FROM_TABLES = {
    "classes", "labels", "doubt", "answers-per-item", "duplicates", "asked", "when", "agreement", "set-aside", "raw",
    "software",
}  # fmt: skip
"""Questions that tables can answer completely."""

PARTS = tuple(
    DatasheetPart(
        title, tuple(DatasheetQuestion(each, text, HELP[each], each not in FROM_TABLES) for each, text in texts.items())
    )
    for title, texts in TEXTS.items()
)
QUESTIONS = tuple(question for part in PARTS for question in part.questions)

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


MOTIVATION = DatasheetPart(
    "Motivation",
    (
        DatasheetQuestion(
            "purpose",
            "What was the data set made for?",
            "state the task or gap it was made for, and why uncertainty matters there",
        ),
        DatasheetQuestion(
            "makers",
            "Who made it, and on whose behalf?",
            "name the people or the team, and their institution",
        ),
        DatasheetQuestion("funding", "Who paid for it?", "name the funder and the grant, or state that there was none"),
    ),
)

COMPOSITION = DatasheetPart(
    "Composition",
    (
        DatasheetQuestion("items", "What are the items, and how many are there?", "describe an item in one sentence"),
        DatasheetQuestion(
            "classes",
            "Which classes are there, and how frequent are they?",
            "list the classes and their shares",
            person=False,
        ),
        DatasheetQuestion(
            "labels",
            "What does a label mean, and how was it made from answers?",
            "state whether labels estimate how people judge or what is true, and which aggregator made them",
            person=False,
        ),
        DatasheetQuestion(
            "doubt",
            "How uncertain are the labels, and where does the uncertainty come from?",
            "give --beliefs to separate uncertainty within and between annotators",
            person=False,
        ),
        DatasheetQuestion(
            "answers-per-item",
            "How many annotators are there per label?",
            "state the number of annotators per item",
            person=False,
        ),
        DatasheetQuestion(
            "missing", "Is anything missing?", "state what a reader would expect that is missing, and why"
        ),
        DatasheetQuestion(
            "sampling",
            "Are the items complete, or a sample?",
            "state where the items come from, how they were selected, and what they may not represent",
        ),
        DatasheetQuestion(
            "splits", "Are there recommended splits?", "name them with reasons, or state that there are none"
        ),
        DatasheetQuestion(
            "duplicates",
            "Are there errors, duplicates or other redundancies?",
            "give --inputs to count duplicates, and state other known errors",
            person=False,
        ),
        DatasheetQuestion(
            "outside",
            "Does it depend on external resources, such as links or another data set?",
            "state what users must get elsewhere and whether it will stay available, or that nothing is needed",
        ),
        DatasheetQuestion(
            "sensitive",
            "Could items be offensive, or contain private information?",
            "state whether people can be recognized, whether consent covers that, and what may be offensive",
        ),
    ),
)

COLLECTION = DatasheetPart(
    "Collection",
    (
        DatasheetQuestion(
            "asked",
            "How were people asked?",
            "give --study, or state the prompt, the question type and the instructions",
            person=False,
        ),
        DatasheetQuestion(
            "people",
            "Who answered, and how were they recruited?",
            "state where annotators were recruited and what is known about them: language, country, age, training",
        ),
        DatasheetQuestion(
            "pay",
            "What were they paid?",
            "state the pay per batch or hour, and how it compares with the local minimum wage",
        ),
        DatasheetQuestion(
            "when", "When was it collected, and how long did an answer take?", "give the dates", person=False
        ),
        DatasheetQuestion(
            "agreement", "How much do annotators agree?", "give --beliefs to compute agreement", person=False
        ),
        DatasheetQuestion(
            "set-aside",
            "Which annotators were excluded, and why?",
            "give --screening (output of sfumato screen), or state whose answers were not used, or that all were used",
            person=False,
        ),
        DatasheetQuestion(
            "consent",
            "Did people give informed consent?",
            "state what people were informed about, how they agreed, and how they can withdraw",
        ),
        DatasheetQuestion(
            "ethics",
            "Was it reviewed by an ethics board?",
            "name the board and the decision, or state why there was no review",
        ),
    ),
)

PREPROCESSING = DatasheetPart(
    "Preprocessing",
    (
        DatasheetQuestion(
            "steps",
            "How were answers processed into labels?",
            "name the labeler and its settings, and all manual corrections, merges and exclusions",
        ),
        DatasheetQuestion(
            "raw",
            "Are the raw answers kept?",
            "state where the raw answers are kept, and for whom they are accessible",
            person=False,
        ),
        DatasheetQuestion("software", "Which software was used?", "name other programs and versions", person=False),
    ),
)

USES = DatasheetPart(
    "Uses",
    (
        DatasheetQuestion(
            "used", "What has it been used for?", "list papers and systems that used it, or state that there are none"
        ),
        DatasheetQuestion(
            "suited", "What else could it be used for?", "name tasks that benefit from uncertainty in labels"
        ),
        DatasheetQuestion(
            "unsuited",
            "What should it not be used for?",
            "state which groups these annotators do not represent, and which decisions must not be based on it",
        ),
        DatasheetQuestion(
            "harm",
            "Could the way it was made cause harm?",
            "state which groups of people or items are judged unfairly or missing, and what users can do about it",
        ),
    ),
)

DISTRIBUTION = DatasheetPart(
    "Distribution",
    (
        DatasheetQuestion(
            "where",
            "Where, when and how is it distributed?",
            "give the address, the date and the format, and a DOI if there is one",
        ),
        DatasheetQuestion(
            "licence", "What is the license?", "name the license of the labels, and that of the items if different"
        ),
        DatasheetQuestion("rights", "Do others have rights in the items?", "name the owners, and what they allow"),
    ),
)

MAINTENANCE = DatasheetPart(
    "Maintenance",
    (
        DatasheetQuestion(
            "contact", "Who maintains it, and how can they be contacted?", "give a name and a permanent address"
        ),
        DatasheetQuestion("updates", "Will it be updated?", "state how often, by whom, and how users are informed"),
        DatasheetQuestion(
            "versions", "Are older versions kept?", "state whether they stay available, and under which name"
        ),
        DatasheetQuestion(
            "contributing",
            "Can others contribute?",
            "state how to contribute answers, items or corrections, and how they are checked",
        ),
        DatasheetQuestion(
            "withdrawal",
            "How can an annotator have their answers removed?",
            "state whom to ask, with which pseudonym, and until when",
        ),
    ),
)

PARTS = (MOTIVATION, COMPOSITION, COLLECTION, PREPROCESSING, USES, DISTRIBUTION, MAINTENANCE)
QUESTIONS = tuple(question for part in PARTS for question in part.questions)

"""The questions of a datasheet, in the seven parts of Gebru et al. (2021), *Datasheets for datasets*, Communications of
the ACM 64(12), put in our own words and for labels that keep people's doubt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DatasheetQuestion:
    """A question under its id, by which a person's answer is found again; `help` says what to write.

    `person` says that tables can never tell all of it.
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
            "What was the set made for?",
            "say which question or gap it was made for, and why doubt matters there",
        ),
        DatasheetQuestion(
            "makers",
            "Who made it, and on whose behalf?",
            "name the people or the team, and the institution they did it for",
        ),
        DatasheetQuestion("funding", "Who paid for it?", "name the funder and the grant, or say that there was none"),
    ),
)

COMPOSITION = DatasheetPart(
    "Composition",
    (
        DatasheetQuestion(
            "items", "What are the items, and how many are there?", "say in a sentence what one item shows or is"
        ),
        DatasheetQuestion(
            "classes",
            "Which classes are there, and how are they spread?",
            "list the classes and their shares",
            person=False,
        ),
        DatasheetQuestion(
            "labels",
            "What does a label say, and how was it made from answers?",
            "say whether labels estimate how people judge or what is true, and which aggregator made them",
            person=False,
        ),
        DatasheetQuestion(
            "doubt",
            "How much doubt is in the labels, and of which sort?",
            "give --beliefs to have doubt within people and between them told apart",
            person=False,
        ),
        DatasheetQuestion(
            "answers-per-item",
            "How many people stand behind a label?",
            "say how many people judged an item",
            person=False,
        ),
        DatasheetQuestion(
            "missing", "Is anything missing?", "say what is not there that a reader would expect, and why"
        ),
        DatasheetQuestion(
            "sampling",
            "Are the items all there are, or a sample of more?",
            "say where the items were taken from, how they were chosen, and what they may fail to represent",
        ),
        DatasheetQuestion(
            "splits", "Are there recommended splits?", "name them and why they were cut so, or say that there are none"
        ),
        DatasheetQuestion(
            "duplicates",
            "Are there errors, duplicates or other redundancies?",
            "give --inputs to have duplicates counted, and say what else is known to be wrong",
            person=False,
        ),
        DatasheetQuestion(
            "outside",
            "Does it depend on anything outside, such as links or another set?",
            "say what a user must fetch elsewhere and whether it will stay; or that nothing is needed",
        ),
        DatasheetQuestion(
            "sensitive",
            "Could items offend, or say anything private about people?",
            "say whether people can be recognised, whether consent covers that, and what may disturb",
        ),
    ),
)

COLLECTION = DatasheetPart(
    "Collection",
    (
        DatasheetQuestion(
            "asked",
            "How were people asked?",
            "give --study, or say the prompt, the form and the instructions",
            person=False,
        ),
        DatasheetQuestion(
            "people",
            "Who answered, and how were they found?",
            "say where people were recruited and what is known of them: language, country, age, training",
        ),
        DatasheetQuestion(
            "pay",
            "What were they paid?",
            "say what a batch or an hour paid, and how that relates to the local minimum wage",
        ),
        DatasheetQuestion(
            "when", "When was it collected, and how long did an answer take?", "give the dates", person=False
        ),
        DatasheetQuestion(
            "agreement", "How far do people agree?", "give --beliefs to have agreement computed", person=False
        ),
        DatasheetQuestion(
            "set-aside",
            "Whose answers were set aside, and why?",
            "give --screening (of sfumato screen), or say whose answers were not used; or that all were",
            person=False,
        ),
        DatasheetQuestion(
            "consent",
            "Did people know and agree?",
            "say what people were told and how they agreed, and how they can take it back",
        ),
        DatasheetQuestion(
            "ethics",
            "Was it reviewed by an ethics board?",
            "name the board and the decision, or say why none was asked",
        ),
    ),
)

PREPROCESSING = DatasheetPart(
    "Preprocessing",
    (
        DatasheetQuestion(
            "steps",
            "What was done between the answers and the labels?",
            "name the labeler and its settings, and whatever was corrected, merged or left out by hand",
        ),
        DatasheetQuestion(
            "raw",
            "Are the raw answers kept?",
            "say where the answers as given are kept, and who may have them",
            person=False,
        ),
        DatasheetQuestion(
            "software", "With which software?", "name the programs and versions besides sfumato", person=False
        ),
    ),
)

USES = DatasheetPart(
    "Uses",
    (
        DatasheetQuestion(
            "used", "What has it been used for?", "list papers and systems that used it, or say that there are none yet"
        ),
        DatasheetQuestion(
            "suited", "What else could it be used for?", "name tasks that the doubt in the labels would serve"
        ),
        DatasheetQuestion(
            "unsuited",
            "What should it not be used for?",
            "say where these people's judgment should not stand for others', and which decisions it must not feed",
        ),
        DatasheetQuestion(
            "harm",
            "Could its making lead to harm later?",
            "say which groups of people or items are judged unfairly or missing, and what a user can do about it",
        ),
    ),
)

DISTRIBUTION = DatasheetPart(
    "Distribution",
    (
        DatasheetQuestion(
            "where",
            "Where, when and how is it given out?",
            "give the address, the date and the form; a DOI if there is one",
        ),
        DatasheetQuestion(
            "licence", "Under which licence?", "name the licence of the labels; that of the items may be another"
        ),
        DatasheetQuestion(
            "rights", "Do others hold rights in the items?", "name whose rights lie on the items, and what they allow"
        ),
    ),
)

MAINTENANCE = DatasheetPart(
    "Maintenance",
    (
        DatasheetQuestion(
            "contact", "Who looks after it, and how can they be reached?", "give a name and an address that will last"
        ),
        DatasheetQuestion(
            "updates", "Will it be corrected or enlarged?", "say how often, by whom, and how users learn of it"
        ),
        DatasheetQuestion(
            "versions", "What becomes of older versions?", "say whether they stay available, and under which name"
        ),
        DatasheetQuestion(
            "contributing",
            "Can others add to it?",
            "say how answers, items or corrections can be given, and who checks them",
        ),
        DatasheetQuestion(
            "withdrawal",
            "How can an annotator have their answers removed?",
            "say whom they ask, by which pseudonym, and until when",
        ),
    ),
)

PARTS = (MOTIVATION, COMPOSITION, COLLECTION, PREPROCESSING, USES, DISTRIBUTION, MAINTENANCE)
QUESTIONS = tuple(question for part in PARTS for question in part.questions)

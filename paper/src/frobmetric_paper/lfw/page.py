"""The page of `frobmetric reproduce lfw`: our numbers beside the paper's."""

from __future__ import annotations

from ..harness.page import Figure, Heading, Paragraph, Table, colophon
from ..table.words import NOTHING, outcome_words, percent, seconds
from . import paper as lfw_paper
from .cells import setup_of
from .methods import FROB
from .plan import MAIN
from .splits import VARIANTS
from .summary import done, largest_gap, mean, mean_seconds
from .words import (
    accuracy,
    folds,
    recipe_words,
    rule_words,
    setup_words,
    share,
    with_error,
    with_std,
)

TITLE = "Labeled Faces in the Wild"
INTRODUCTION = (
    "Two pictures of faces: do they show one person? View 1 of the data set is for choices, View 2 "
    "for judging: ten folds, each decided by what was learned from the other nine, with no person "
    "in two folds.",
    "An image is nine points of the face, SIFT descriptors of three scales at each: 3,456 numbers. "
    "The points are found by another detector than the paper's, so that the features are not the "
    "same, and neither are the numbers to be expected. Nor is what is done with them: where View 1 "
    "prefers it, square roots are taken first, and PCA is followed by whitening within people and "
    "by division by the length. The paper has PCA alone; “FrobMetric, the paper's recipe”, among "
    "the other methods below, has that.",
    "Names of training people are used: for third examples of triplets, for whitening within "
    "people and by MkNN. In the words of the data set this is its unrestricted protocol, as in the "
    "paper; no data from outside were learned from, unless the detector of the points was. PCA, "
    "whitening, triplets and the reference of MkNN are made from known images alone, of which none "
    "shows a person of the test fold: once the images of the training pairs, once all images of "
    "the people in them.",
    "Pairs are decided by the distance, by the cosine of the angle seen from the mean of the known "
    "images, or by marginalised k-NN (MkNN), as in the paper: the share of pairs of neighbours, "
    "one of each image, that show one person, times the number of known images. Thresholds come "
    "from training pairs: these are divided into {parts} parts with no person in two, and each is "
    "scored by what was learned from the others; PCA alone is that of all. A metric that was "
    "learned from the very pairs would bring them closer than others.",
)
SMALL = (
    "This is the small version, for a look at whether all works: few folds, few triplets and no "
    "choices. No number of it is to be compared with the paper's."
)
CHOSEN = (
    "Values of one parameter after the other are tried, the others being the best so far. What "
    "counts is the share of pairs that the best rule decides right, of View 1's held-out training "
    "pairs and its test pairs together. The numbers are these shares, in percent."
)
BRACKETS = (
    "Accuracy in percent; the standard deviation over folds in brackets. The paper's, which are "
    "all by MkNN, do not say what they hold, but are of that size too."
)
WITHOUT = (
    "A figure of some triplets is left out{reason}. Pictures of faces carry no licence: a page "
    "with them is not to be published."
)


def page_blocks(result, figures, without, settings, command):
    """All that the page holds below its title.

    Parameters
    ----------
    result : Result
    figures : dict
        "curves" and "triplets" -> list of (file name, caption).
    without : str
        Why there is no figure of triplets.
    settings : dict of str
        What to say of the run: limit, threads.
    command : str
        What makes this page again.

    Returns
    -------
    list of blocks of `reproduce_page`
    """
    texts = [*([SMALL] if result.plan.quick else []), *INTRODUCTION]
    blocks = [Paragraph(text.format(parts=result.plan.n_parts)) for text in texts]
    if result.reason:
        return [
            *blocks,
            Paragraph(f"Left out: {result.reason}"),
            *colophon([result], settings, command),
        ]
    return [
        *blocks,
        *_sizes(result),
        *_choices(result),
        *_folds(result),
        *_table(result),
        *_methods(result),
        *(Figure(*each) for each in figures.get("curves", [])),
        *_published(result),
        *_triplets(figures.get("triplets", []), without),
        *colophon([result], settings, command),
    ]


def _sizes(result):
    names = list(result.sizes[0])
    rows = [[_count(size[name]) for name in names] for size in result.sizes]
    yield Table(
        names, rows, "What there is to learn from; the other folds are alike.", texts=("variant",)
    )


def _count(value):
    return VARIANTS.get(value, value) if isinstance(value, str) else f"{value:,}"


# Choices


def _choices(result):
    yield Heading("Choices on View 1")
    yield Paragraph(CHOSEN)
    header = ["method", "variant", "chosen", "rule", "distance", "cosine", "MkNN", "remark"]
    rows = [
        _choice_row(result, method, variant)
        for variant in result.plan.variants
        for method in result.plan.methods
        if (method.name, variant) in result.choices
    ]
    yield Table(header, rows, texts=("variant", "chosen", "rule", "remark"))
    for variant in result.plan.variants:
        yield from _tries(result, variant)


def _choice_row(result, method, variant):
    choice = result.choices[method.name, variant]
    if choice.best is None:
        first = choice.tries[0]
        return [method.label, variant, *[outcome_words(first)] * 5, first.remark]
    shares = [share(choice.best.both(rule)) for rule in choice.rules]
    return [
        method.label,
        variant,
        setup_words(choice.setup, _names(method)),
        rule_words(choice.rule),
        *shares,
        choice.best.remark if choice.is_complete else "not all values were tried",
    ]


def _names(method):
    """What is chosen for a method, by name."""
    return [name for names in method.search for name in names.split()]


def _tries(result, variant):
    """Every setup of FrobMetric that was tried, with all rules."""
    method = next(each for each in result.plan.methods if each.name == FROB.name)
    choice = result.choices[FROB.name, variant]
    if choice.best is None:
        return
    names, rules = _names(method), list(choice.best.rules)
    rows = [
        [
            setup_words(setup_of(cell), names),
            *(share(cell.both(rule)) for rule in rules),
            "chosen" if cell is choice.best else "",
        ]
        for cell in done(choice.tries)
    ]
    caption = f"FrobMetric on View 1, {VARIANTS[variant]}: {recipe_words(choice.setup.recipe)}."
    yield Table([f"{variant}: setup", *map(rule_words, rules), " "], rows, caption, texts=(" ",))


# View 2


def _folds(result):
    yield Heading("View 2")
    rows = [row for variant in result.plan.variants for row in _fold_rows(result, variant)]
    header = [
        "known images",
        "rule",
        "folds",
        "accuracy",
        "standard deviation",
        "area below ROC",
        "chosen on View 1",
    ]
    yield Table(
        header,
        rows,
        "FrobMetric: mean accuracy ± standard error over folds, in percent.",
        texts=("rule", "chosen on View 1"),
    )
    yield Paragraph(_best_words(result))


def _fold_rows(result, variant):
    choice = result.choices[FROB.name, variant]
    if choice.best is None:
        return
    cells = result.folds[FROB.name, variant]
    for rule in choice.rules:
        found = mean(cells, rule)
        std, area = (found.std, found.area) if found else (None, None)
        yield [
            VARIANTS[variant],
            rule_words(rule),
            folds(cells),
            accuracy(cells, rule),
            percent(std),
            percent(area),
            "yes" if rule == choice.rule else "",
        ]


def _best_words(result):
    """The number that stands for all: that of the variant and rule that View 1 prefers."""
    choices = {variant: result.choices[FROB.name, variant] for variant in result.plan.variants}
    choices = {variant: choice for variant, choice in choices.items() if choice.best}
    if not choices:
        return "Nothing is chosen yet."
    variant = max(choices, key=lambda each: choices[each].best.both(choices[each].rule))
    found = mean(result.folds[FROB.name, variant], choices[variant].rule)
    if found is None:
        return "No fold is finished."
    best, _ = max(lfw_paper.ACCURACY.values())
    return (
        f"View 1 prefers {VARIANTS[variant]} and the rule “{rule_words(choices[variant].rule)}”: "
        f"{with_error(found)} % on View 2. The paper's best is {best} %, by MkNN."
    )


# Dimensions and triplets


def _table(result):
    yield Heading("Dimensions and triplets")
    choice = result.choices[FROB.name, MAIN]
    if choice.best is None or not any(done(cells) for cells in result.table.values()):
        yield Paragraph("Not run yet.")
        return
    for rule in dict.fromkeys([choice.rule, choice.counting_rule]):
        caption = f"FrobMetric by the rule “{rule_words(rule)}”. {BRACKETS}"
        yield _grid(
            result,
            caption,
            lambda cells, rule=rule: accuracy(cells, rule, with_std),
            lambda place: percent(*lfw_paper.ACCURACY[place]),
        )
    yield _grid(
        result,
        "Time of one fit, the mean over folds, by the clock and without the search for "
        "triplets; the paper's is CPU time.",
        lambda cells: seconds(mean_seconds(cells)),
        lambda place: seconds(lfw_paper.SECONDS[place]),
    )
    gaps = [gap for cells in result.table.values() if (gap := largest_gap(cells)) is not None]
    yield Paragraph(
        f"Fits end at a proven relative gap of 0.001; the largest of all is {max(gaps):.1e}. The "
        f"known images are {VARIANTS[MAIN]}. All but dimensions and triplets is as chosen on View "
        "1. With a C as small as 300 in this space hardly any triplet reaches its margin: the loss "
        "is then linear, and a few steps are enough."
    )


def _grid(result, caption, ours, paper):
    """Rows of triplets, columns of dimensions, the paper's line below ours."""
    plan, rows = result.plan, []
    for count in plan.n_triplets:
        places = [(count, dimensions) for dimensions in plan.dimensions]
        rows.append([f"{count:,}", *(ours(result.table[place]) for place in places)])
        rows.append(
            [
                "… the paper's",
                *(paper(place) if place in lfw_paper.ACCURACY else NOTHING for place in places),
            ]
        )
    return Table(["triplets", *(f"{d}-D" for d in plan.dimensions)], rows, caption)


# Others


def _methods(result):
    yield Heading("Other methods")
    yield Paragraph(
        "All learners get the vectors with which the choices for FrobMetric begin, but for the "
        "dimensions. LDML and ITML learn from the training pairs, LMNN from the images of people "
        "who have several, BoostMetric from triplets made as those of FrobMetric. The first three "
        "learn no metric beyond what their name says. Each method's parameters and rule are "
        "chosen on View 1. " + _tries_words(result)
    )
    header = [
        "method",
        "dimensions",
        "folds",
        "distance",
        "cosine",
        "MkNN",
        "chosen rule",
        "area below ROC",
        "time",
        "remark",
    ]
    rows = [_method_row(result, method) for method in result.plan.methods]
    yield Table(
        header,
        rows,
        f"Mean accuracy ± standard error; the known images are {VARIANTS[MAIN]}, the "
        "setup is that which is best on View 1 by the chosen rule, the time that of one fit.",
        texts=("chosen rule", "remark"),
    )


def _tries_words(result):
    """How much was tried for each: a search over more values finds more."""
    counts = ", ".join(
        f"{method.label} {len(result.choices[method.name, MAIN].tries)}"
        for method in result.plan.methods
    )
    return f"Setups tried there, not equally many for all: {counts}."


def _method_row(result, method):
    choice, cells = result.choices[method.name, MAIN], result.folds[method.name, MAIN]
    remark = next((cell.remark for cell in cells if cell.remark), "")
    if choice.best is None:
        return [
            method.label,
            NOTHING,
            NOTHING,
            *[outcome_words(choice.tries[0])] * 3,
            NOTHING,
            NOTHING,
            NOTHING,
            remark,
        ]
    found = mean(cells, choice.rule)
    return [
        method.label,
        str(choice.setup.recipe.n_dimensions),
        folds(cells),
        *(accuracy(cells, rule) for rule in choice.rules),
        rule_words(choice.rule),
        percent(found.area) if found else NOTHING,
        seconds(mean_seconds(cells) or None),
        remark,
    ]


def _published(result):
    yield Heading("Published results")
    header = ["authors", "one descriptor", "name", "several", "name of several"]
    rows = [
        [
            line.authors,
            *(
                text or NOTHING
                for text in (line.single, line.single_name, line.several, line.several_name)
            ),
        ]
        for line in lfw_paper.PUBLISHED
    ]
    for variant in result.plan.variants:
        choice = result.choices[FROB.name, variant]
        if choice.best and done(result.folds[FROB.name, variant]):
            rows += [
                [
                    "here",
                    with_std(mean(result.folds[FROB.name, variant], rule)),
                    f"FrobMetric, {rule_words(rule)}; {VARIANTS[variant]}",
                    NOTHING,
                    NOTHING,
                ]
                for rule in choice.rules
            ]
    caption = (
        "The paper's table, as it has it, and ours: accuracy with one descriptor and one "
        "classifier, and with several. In our rows, and by their size in the paper's own, brackets "
        "hold the standard deviation over folds; most others are standard errors of the mean, and "
        "many of them were made without names of people."
    )
    yield Table(header, rows, caption, texts=("name", "name of several"))


def _triplets(figures, without):
    yield Heading("Triplets")
    yield from (Figure(*each) for each in figures)
    if not figures:
        yield Paragraph(WITHOUT.format(reason=f": {without}" if without else ""))

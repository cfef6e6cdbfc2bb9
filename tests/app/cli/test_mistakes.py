"""Exit codes of all commands in one table: 2 for wrong usage, 3 for bad data."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_swiss_roll

from frobmetric import FrobMetric, save
from frobmetric.app.cli import COMMANDS
from frobmetric.app.tables.reading import Table
from frobmetric.app.tables.writing import write_table
from sdpa_examples import MANUAL
from terminals import check_help, check_mistake

X, Y = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[Y]
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
G = ",a,b,c\na,1,1,0\nb,1,1,1\nc,0,1,1\n"
MATRIX = ",a,b,c\na,0,1,2\nb,1,0,1\nc,2,1,0\n"
GAPS = "id,a,b,color,c,species\n" + "".join(
    f"{i},{i or ''},{i % 3},{'red' if i % 2 else 'blue'},{-i},{'xyz'[i % 3]}\n" for i in range(9)
)
#: Files that many commands find.
TEXTS = {
    "empty.csv": "",
    "one.csv": "a,species\n1,x\n2,x\n3,x\n",
    "numbers.csv": "a,b\n1,2\n3,4\n5,6\n",
    "other.csv": "a,b,species\n1,2,x\n3,4,y\n",
    "dirty.csv": GAPS,
    "g.csv": G,
    "manual.dat-s": MANUAL,
}
#: Files of commands for matrices, problems and embeddings that something is wrong with.
MATRICES = {
    "asymmetric.csv": G.replace("b,1,", "b,0.9,"),
    "missing.csv": G.replace("a,1,1,0", "a,1,1,").replace("c,0,", "c,,"),
    "word.csv": G.replace("a,1,1,0", "a,1,one,0"),
    "infinite.csv": G.replace("a,1,1,0", "a,1,inf,0"),
    "wide.csv": "1,2,3\n4,5,6\n",
    "ragged.csv": "1,2\n3\n",
    "order.csv": G.replace("b,1,1,1\nc,0,1,1", "c,1,1,1\nb,0,1,1"),
    "twice.csv": "a,a\n1,0\n0,1\n",
    "fixed.csv": "row,column\na,d\n",
    "weights.csv": "d,1\na,1\nb,1\n",
    "negative.csv": "1\n-1\n1\n",
    "small.csv": "1,0\n0,1\n",
    "sense.csv": "sense,b,a\n<,1,1\n",
    "head.csv": "=,1,1,0,0\n",
    "name.csv": "sense,b,d\n=,1,1\n",
}
PROBLEMS = {
    "cut.dat-s": MANUAL[:60],
    "half.dat-s": MANUAL[:-6],
    "block.dat-s": MANUAL.replace("1 1 1 2 4", "1 3 1 2 4"),
    "text.dat-s": "hello world\n",
    "empty.dat-s": "",
    "huge.dat-s": "1\n1\n30000000\n1\n1 1 1 1 1\n",
}
SAMPLES = {
    "empty.csv": "",
    "head.csv": "a,b\n",
    "one.csv": "a,b\n1,2\n",
    "same.csv": "a,b\n" + "1,2\n" * 9,
    "text.csv": "a,b\n1,red\n",
    "missing.csv": "a,b\n1,\n",
    "infinite.csv": "a,b\n1,inf\n",
    "label.csv": "a,b\n1,\n2,1\n",
    "asymmetric.csv": MATRIX.replace("b,1,", "b,3,"),
    "hole.csv": MATRIX.replace("a,0,1,2", "a,0,1,").replace("c,2,", "c,,"),
    "negative.csv": MATRIX.replace("1", "-1"),
    "diagonal.csv": MATRIX.replace("b,1,0", "b,1,5"),
    "wide.csv": "1,2,3\n4,5,6\n",
}
FILES = {"correlation": MATRICES, "covariance": MATRICES, "unfold": SAMPLES}
FILES |= {"sdp solve": PROBLEMS, "sdp info": PROBLEMS}
#: Arguments of each command with a mistake, the exit code, and a pattern of the message.
MISTAKES = {
    "fit": [
        ("iris.csv -t species --C -1", 2, "--C must be .* positive"),
        ("iris.csv -t species --C abc", 2, "--C"),
        ("iris.csv -t species --tol 0", 2, "--tol.* 0 is not positive"),
        ("iris.csv -t species --loss hing", 2, "one of .*'hinge'"),
        ("iris.csv -t species --solver no", 2, "one of .*'auto'"),
        ("iris.csv -t species --n-neighbors 0", 2, "--n-neighbors must be"),
        ("iris.csv -t species --n-components nine", 2, "--n-components must be"),
        (
            "iris.csv -t species --n-components 9",
            2,
            "--n-components 9 is larger than the 4 features",
        ),
        ("iris.csv -t species --C 1 --cv 2", 2, "--C.*--cv chooses C, of a metric"),
        ("iris.csv -t species --cv 2 --triplets t.csv", 2, "it needs labels"),
        ("iris.csv -t species --with-labels", 2, "it needs --triplets and labels"),
        ("iris.csv -t species --cv 2 --kernel rbf", 2, "without a kernel"),
        ("iris.csv -t species --cv 1", 2, "--cv: 1 fold leaves nothing to learn from"),
        ("iris.csv -t species --degree 2", 2, "--degree.* only --kernel rbf and polynomial"),
        ("iris.csv -t species --kernel sigmoid", 2, "must be one of"),
        ("iris.csv -t species --gamma 1", 2, "only --kernel rbf and polynomial have it"),
        ("iris.csv -t species -o iris.csv", 2, "names a table"),
        ("iris.csv -t species -o m.pkl", 2, "names an object of Python; a model is a safeten"),
        ("iris.csv -t species -o a/m.onnx", 2, "name it m.safetensors; `frobmetric export`"),
        ("numbers.csv", 2, "labels of numbers.csv are needed, or --triplets"),
        ("", 2, "Missing argument"),
        ("iris.csv -t species --memory 1", 2, "reads parquet files in parts"),
        ("iris.parquet --memory 1", 2, "the labels of iris.parquet are needed"),
        ("iris.parquet -t species --memory -1", 2, "not a number of GB above 0"),
        ("iris.parquet -t species --memory 1 --triplets iris.csv", 2, "not --triplets"),
        ("iris.parquet -t species --memory 1 --keep-proof", 2, "cannot keep it"),
        ("iris.parquet -t species --memory 1 --drop petal_width", 2, "cannot be chosen or changed"),
        ("dirty.csv -t species --impute most", 2, "'most' is not known; expected median"),
        ("dirty.csv -t species --categories ordinal", 2, "expected one-hot"),
        ("iris.csv -t species --resume", 2, "--resume.* it needs the file of --checkpoint"),
        ("no.csv -t species", 3, "no.csv does not exist"),
        ("no -t species", 3, "no does not exist"),
        ("/dev/stdin -t species", 3, "cannot read /dev/stdin: give - for the standard input"),
        ("iris.csv -t specie", 3, "no column 'specie'; did you mean 'species'?"),
        ("iris.csv", 3, "line 2, column 'species': 'setosa' is text"),
        ("empty.csv -t species", 3, "empty.csv is empty"),
        ("iris.csv -t species -o no/m", 3, "folder .* does not exist"),
        ("one.csv -t species", 3, "y has one class"),
        ("iris.csv -t species --triplets iris.csv", 3, "is text"),
        ("iris.xls -t species", 3, "expected one of .csv"),
        ("iris.parquet -t color --memory 1", 3, "has no column 'color'"),
        ("dirty.csv -t species", 3, "value is missing.*--impute median"),
        ("dirty.csv -t species --impute mean", 3, "is text.*--categories one-hot.*--drop"),
        ("dirty.csv -t species --drop ID,a", 3, "no column 'ID'; did you mean 'id'"),
        ("dirty.csv -t species --columns species", 3, "'species' holds the labels"),
    ],
    "transform": [
        ("m iris.csv", 2, "Missing option"),
        ("m dirty.csv -o - --json", 2, "the standard output holds the table"),
        ("iris.csv no.safetensors -o a.csv", 3, "iris.csv is a table; .* swap the two"),
        ("no.safetensors iris.csv -o a.csv", 3, "no.safetensors does not exist"),
        ("no.safetensors iris.csv -o a.txt", 3, "cannot write a.txt"),
    ],
    "search": [
        ("iris.csv --query new.csv", 2, "Missing option.*--model"),
        ("iris.csv --model m.safetensors", 2, "Missing option.*--query"),
        ("iris.csv --model m.safetensors --query new.csv -k 0", 2, "n-results"),
        ("iris.csv --model m.safetensors --query new.csv -o a.npy", 3, "format '.npy'"),
        ("iris.csv --model m.safetensors --query no.csv", 3, "no.csv does not exist"),
        ("new.csv --model m.safetensors --query new.csv -t color", 3, "no column 'color'"),
        ("new.csv --model new.csv --query new.csv", 3, "new.csv is a table; expected a model"),
    ],
    "evaluate": [
        ("iris.csv m.safetensors", 2, "iris.csv is a table and m.safetensors a model; swap"),
        ("numbers.csv", 2, "labels of numbers.csv are needed"),
        ("m.safetensors", 2, "expected `evaluate DATA`"),
        ("m.safetensors iris.csv", 2, "--train TRAIN_DATA"),
        ("iris.csv --train iris.csv", 2, "expected `evaluate DATA`"),
        ("m iris.csv --train iris.csv --C 3", 2, "no effect on a given model"),
        ("m iris.csv --train iris.csv --folds 3", 2, "no effect on a given model"),
        ("m dirty.csv --train dirty.csv --impute mean", 2, "no effect on a given model"),
        ("iris.csv -t sepal_length", 3, "is text"),
        ("iris.csv -t species --folds 51", 3, "iris.csv: cv=51, but the largest class has 50"),
        ("iris.csv -t species --baselines svm", 3, "with 'raw' or 'scaled'"),
    ],
    "certify": [
        ("m iris.csv --tol -1", 2, "--tol"),
        ("no.safetensors iris.csv", 3, "no.safetensors does not exist"),
        ("iris.csv iris.csv", 3, "iris.csv is a table; expected a model"),
    ],
    "explain": [
        ("m.safetensors iris.csv --rows 3", 2, "'3' is not two numbers of rows"),
        ("m.safetensors iris.csv --rows 3,x", 2, "'3,x' is not two numbers of rows"),
        (
            "m.safetensors iris.csv --rows 3,150",
            2,
            "iris.csv has 150 rows, with the numbers 0 to 149",
        ),
        ("m.safetensors iris.csv --by samples", 3, "by is 'samples'; expected one of"),
    ],
    "compare": [
        ("numbers.npy", 2, "the labels of numbers.npy are needed"),
        ("iris.csv -t species --budget 0", 2, "0 is not positive"),
        ("no.csv -t species", 3, "no.csv does not exist"),
        ("iris.csv -t species --learner LNMM", 3, "'LNMM', which is no learner .* FrobMetric"),
        ("iris.csv -t species --figure x.gif", 3, "cannot write x.gif: .* expected one of .png"),
        ("iris.csv -t species --markdown x.txt", 3, "cannot write x.txt: .* expected one of .md"),
        ("iris.csv -t species --test other.csv", 3, "other.csv has other columns of features"),
        ("iris.csv -t species --n-votes 90", 3, "a fold has 70 samples"),
    ],
    "report": [
        (
            "m.safetensors iris.csv -t species -o r.html --image-shape 8by8",
            2,
            "expected such as 8x8",
        ),
        ("m.safetensors iris.npy -o r.html", 2, "the labels of iris.npy are needed"),
        ("m.safetensors iris.csv -t species -o r.pdf", 2, "ends in .html"),
        ("m.safetensors iris.csv -t species -o r.html --folds 1", 2, "folds"),
        ("m.safetensors iris.csv -t species -o no/r.html", 3, "does not exist"),
        (
            "m.safetensors iris.csv -t species -o r.html --image-shape 3x3",
            3,
            r"iris.csv: image_shape is \(3, 3\)",
        ),
        ("m.safetensors few.npz -o r.html", 3, "few.npz has 3 columns of features"),
    ],
    "export": [
        ("m.safetensors --to pickle -o w", 2, "'pickle' is not a format; choose one of"),
        ("m.safetensors --to faiss --dtype int8 -o w", 2, "faiss has no 'int8'; choose"),
        ("m.safetensors --to pgvector -o w", 2, "a database: --to sql --dialect pgvector"),
        ("iris.npy --to npy -o w.npy", 3, "iris.npy is a table; expected a model"),
        ("m.safetensors --to npy -o no/w.npy", 3, "does not exist; create it"),
        ("m.safetensors --to sql --dialect oracle -o w", 3, "'oracle' is not known"),
    ],
    "unfold": [
        ("d.csv -o o.csv --metric precomputed --drop a", 2, "do not apply to distances"),
        ("", 2, "Missing argument"),
        ("roll.csv", 2, "Missing option .*-o"),
        ("roll.csv -o roll.csv", 2, "roll.csv holds the data; give the embedding another name"),
        (
            "roll.csv -o e.csv -d 60",
            2,
            "--n-components 60 must be smaller than n_samples=60: n samples span at most",
        ),
        ("roll.csv -o e.csv -d 0", 2, "--n-components must be"),
        ("roll.csv -o e.csv -k 0", 2, "--n-neighbors must be"),
        ("roll.csv -o e.csv --n-landmarks 2", 2, "--n-landmarks must be"),
        ("roll.csv -o e.csv --max-iter 0", 2, "--max-iter"),
        ("roll.csv -o e.csv --tol 0", 2, "--tol.* 0 is not positive"),
        ("roll.csv -o e.csv --sigma -1", 2, "--sigma.* -1 is not positive"),
        ("roll.csv -o e.csv --sigma inf", 2, "--sigma must be .*a positive finite number"),
        (
            "roll.csv -o e.csv --constraints neq",
            2,
            "--constraints must be one of .*'at_most', 'equal'",
        ),
        (
            "roll.csv -o e.csv --solver fast",
            2,
            "--solver must be one of .*'auto', 'dual', 'lowrank'",
        ),
        ("roll.csv -o e.csv --metric eucledian", 2, "--metric must be .*'euclidean'"),
        (
            "roll.csv -o e.csv --solver dual",
            2,
            "--solver dual needs a sigma and --constraints at_most, but there is no sigma",
        ),
        ("dirty.csv -o out.csv -t species", 3, "value is missing.*--impute median"),
        ("roll.csv -o /dev/stdout", 3, "cannot write /dev/stdout: give - for the standard output"),
        ("no.csv -o e.csv", 3, "no.csv does not exist; expected a table; check its name"),
        ("roll.xls -o e.csv", 3, "cannot read roll.xls: a file of format '.xls'; expected one of"),
        ("empty.csv -o e.csv", 3, "empty.csv is empty"),
        ("head.csv -o e.csv", 3, "head.csv has no rows of data"),
        ("one.csv -o e.csv", 3, "one.csv has one sample; expected several"),
        ("same.csv -o e.csv", 3, "all 9 samples are the same point; there is nothing to unfold"),
        ("text.csv -o e.csv", 3, r"line 2, column 'b': 'red' is text; .* \(--target\)"),
        ("missing.csv -o e.csv", 3, "line 2, column 'b': the value is missing"),
        ("infinite.csv -o e.csv", 3, "the value is infinite"),
        ("label.csv -t b -o e.csv", 3, "label.csv, line 2, column 'b': the label is missing"),
        ("roll.csv -t angel -o e.csv", 3, "no column 'angel'; did you mean 'angle'?"),
        (
            "roll.csv -o e.txt",
            3,
            "cannot write e.txt: .*; expected one of .csv, .tsv, .csv.gz, .tsv.gz",
        ),
        ("roll.csv -o e", 3, "cannot write e: a file without a suffix"),
        ("roll.csv -o no/e.csv", 3, "no/e.csv: the folder .*no does not exist; create it"),
        (
            "roll.csv -o e.csv --plot-file e.gif",
            3,
            "cannot write e.gif: a file of format '.gif'; expected one of .png, .pdf, .svg",
        ),
        ("roll.csv -o e.csv --plot-file no/e.png", 3, "no/e.png: the folder .* does not exist"),
        (
            "roll.csv -o e.csv -k 60",
            3,
            "--n-neighbors 60 is too large: .* each has 59 others; set --n-neighbors to at most 59",
        ),
        (
            "roll.csv -o e.csv -k 1 --on-disconnected error",
            3,
            r"raise --n-neighbors \(1 now.*\), or set --on-disconnected separate to unfold",
        ),
        (
            "roll.csv -o e.csv --metric mahalanobis",
            3,
            "--metric mahalanobis needs parameters .* transform X, and use --metric euclidean",
        ),
        (
            "roll.csv -o e.csv --metric precomputed",
            3,
            "roll.csv has 61 rows and 4 columns; expected",
        ),
        (
            "roll.csv -o e.csv -t angle --metric precomputed",
            3,
            "roll.csv has 60 rows and 3 columns of numbers; .* expected as many columns as rows",
        ),
        (
            "asymmetric.csv -o e.csv -k 1 -d 1 --metric precomputed",
            3,
            "is not symmetric: 1 at row 'a', column 'b' and 3 at its",
        ),
        (
            "hole.csv -o e.csv -k 1 -d 1 --metric precomputed",
            3,
            "hole.csv, row 'a', column 'c': the value is missing; fill it",
        ),
        (
            "negative.csv -o e.csv -k 1 -d 1 --metric precomputed",
            3,
            r"negative.csv: .*X\[0, 1\] = -1.0 is not a distance",
        ),
        (
            "diagonal.csv -o e.csv -k 1 -d 1 --metric precomputed",
            3,
            r"diagonal.csv: X\[1, 1\] = 5.0; the distance of a sample",
        ),
        (
            "wide.csv -o e.csv -k 1 -d 1 --metric precomputed",
            3,
            "wide.csv has 2 rows and 3 columns; expected a square matrix",
        ),
    ],
    "sdp": [("slove manual.dat-s", 2, "No such command 'slove'")],
    "sdp solve": [
        ("", 2, "Missing argument"),
        ("manual.dat-s --tol 0", 2, "--tol.* 0 is not positive"),
        ("manual.dat-s --tol nan", 2, "nan is not positive"),
        ("manual.dat-s --sigma -1", 2, "--sigma.* -1 is not positive"),
        ("manual.dat-s --time-limit 0", 2, "--time-limit.* 0 is not positive"),
        ("manual.dat-s --max-iter 0", 2, "--max-iter"),
        ("manual.dat-s -o manual.dat-s", 2, "manual.dat-s names a problem"),
        ("manual.dat-s -o other.DAT-S.gz", 2, "names a problem"),
        ("no.dat-s", 3, "no.dat-s does not exist; expected an SDPA sparse file; check its"),
        ("cut.dat-s", 3, "cut.dat-s, line 3: the file ends here"),
        ("half.dat-s", 3, r"half.dat-s, line 12: 3 numbers are given \(3 1 2\)"),
        ("block.dat-s", 3, "block.dat-s, line 9: .* has block 3; expected one of 1 to 1"),
        ("text.dat-s", 3, "text.dat-s, line 1: 'hello' is given as m"),
        ("g.csv", 3, "g.csv, line 1: 'a' is given as m"),
        ("manual.dat-s -o no/x", 3, "no/x: the folder .* does not exist"),
    ],
    "sdp info": [
        ("empty.dat-s", 3, "empty.dat-s is empty"),
        ("huge.dat-s", 3, "huge.dat-s has blocks of up to 30000000 rows, for which .* are needed"),
        (".", 3, r"\. is not a regular file"),
    ],
    "correlation": [
        ("g.csv", 2, "Missing option"),
        ("g.csv -o x.csv --lower low", 2, "'low' is not a number; expected one, or a file"),
        ("g.csv -o x.csv --min-eigenvalue 1", 2, "must be below 1"),
        ("g.csv -o x.csv --weights g.csv --elementwise g.csv", 2, "not several"),
        ("dirty.csv --columns a -o x.csv", 2, "--columns: it is for tables"),
        ("dirty.csv --drop id -o x.csv", 2, "--drop: it is for tables: --from-rows"),
        ("dirty.csv --no-header -o x.csv", 2, "--no-header: it is for tables"),
        ("--from-rows dirty.csv --counts g.csv -o x.csv", 2, "those of the rows"),
        ("no.csv -o x.csv", 3, "no.csv does not exist"),
        ("manual.dat-s -o x.csv", 3, "cannot read manual.dat-s: .* expected one of .csv"),
        (
            "g.csv -o x.txt",
            3,
            "cannot write x.txt: .* expected one of .csv, .tsv, .csv.gz, .tsv.gz, .npy",
        ),
        ("g.csv -o no/x.csv", 3, "the folder .* does not exist"),
        (
            "asymmetric.csv -o x.csv",
            3,
            "asymmetric.csv is not symmetric: 1 at row 'a', column 'b' and 0.9 at its mirror",
        ),
        (
            "missing.csv -o x.csv",
            3,
            "missing.csv, row 'a', column 'c': the value is missing; .* --elementwise",
        ),
        ("word.csv -o x.csv", 3, "word.csv, line 2, number 2: 'one' is text"),
        ("infinite.csv -o x.csv", 3, "row 'a', column 'b': infinite"),
        ("wide.csv -o x.csv", 3, "2 rows and 3 columns; expected a square matrix"),
        ("ragged.csv -o x.csv", 3, "ragged.csv, line 2 has 1 fields; the first has 2"),
        ("order.csv -o x.csv", 3, "column 2 is named 'b' and row 2 'c'"),
        ("twice.csv -o x.csv", 3, "the name 'a' is there twice"),
        ("bad.npy -o x.csv", 3, "bad.npy cannot be read as a NumPy file of numbers"),
        ("words.npy -o x.csv", 3, "it holds <U1; expected numbers"),
        ("line.npy -o x.csv", 3, r"an array of shape \(3,\); expected \(n, n\)"),
        ("g.csv -o x.csv --fixed fixed.csv", 3, "fixed.csv, line 2: 'd' is not a label of g"),
        ("g.csv -o x.csv --fixed wide.csv", 3, "has 3 columns; expected row, column"),
        ("g.csv -o x.csv --weights weights.csv", 3, "weights.csv: 'd' is not in g.csv"),
        ("g.csv -o x.csv --weights negative.csv", 3, r"weights\[1\] = -1"),
        ("g.csv -o x.csv --elementwise small.csv", 3, "small.csv has 2 rows and g.csv 3"),
        ("g.csv -o x.csv --lower 0.9 --upper 0.5", 3, "the bounds cross"),
        ("--from-rows dirty.csv -o x.csv", 3, "'color' holds texts.*--drop color"),
    ],
    "covariance": [
        ("g.csv -o x.csv --min-eigenvalue -1", 2, "--min-eigenvalue"),
        ("missing.csv -o x.csv", 3, "row 'a', column 'c': the value is missing; fill it"),
        ("g.csv -o x.csv --constraints sense.csv", 3, "line 2: the sense '<'; expected ="),
        ("g.csv -o x.csv --constraints head.csv", 3, "line 1: =,1; expected sense,b"),
        ("g.csv -o x.csv --constraints name.csv", 3, "line 1: 'd' is not a label of g.csv"),
    ],
}

LINES = [(command, *mistake) for command in MISTAKES for mistake in MISTAKES[command]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a table in three formats, a model of it, and a swiss roll."""
    folder = tmp_path_factory.mktemp("files")
    for suffix in ("csv", "parquet"):
        write_table(folder / f"iris.{suffix}", Table(X, SPECIES, NAMES), labels_name="species")
    roll, angle = make_swiss_roll(60, random_state=0)
    write_table(folder / "roll.csv", Table(roll, angle, ["x", "y", "z"]), labels_name="angle")
    write_table(folder / "new.csv", Table(X[:9], None, NAMES))
    np.savez(folder / "few.npz", X=X[:, :3], y=Y)
    arrays = {"iris": X, "numbers": X, "words": [["a"]], "line": [1.0, 2, 3]}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "bad.npy").write_text("text")
    data = Table(X, SPECIES, NAMES)
    save(FrobMetric().fit(data.dataframe(), data.y), folder / "m.safetensors")
    return folder


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """An own current folder with these files."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("command", "arguments", "code", "message"), LINES)
def test_mistakes(folder, command, arguments, code, message):
    if command == "report":
        pytest.importorskip("jinja2")
        pytest.importorskip("plotly")
    for name, text in (TEXTS | FILES.get(command, {})).items():
        Path(name).write_text(text)
    check_mistake(f"{command} {arguments}", message, code)


@pytest.mark.parametrize("command", ["", *COMMANDS, "sdp solve", "sdp info"])
def test_help_names_the_exit_codes(command):
    check_help(command)

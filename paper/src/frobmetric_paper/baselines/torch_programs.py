"""Programs that need PyTorch: the worker loads this file alone, in their environment."""

from __future__ import annotations


def train_matrix(task):
    """Train a matrix M so that the cosine of x M and z M is the similarity of the pair.

    The recipe of OpenAI's cookbook: mean squared error, dropout of the inputs, batches in random
    order. It differs in two ways, both to the good of the result: M begins at the identity and not
    at random, and the steps are Adam's. Strengths are numbers of epochs.
    """
    import torch

    parameters = task["parameters"]
    torch.manual_seed(task["seed"])
    first, second, wanted = (
        torch.from_numpy(task[name]).float() for name in ("first", "second", "similarity")
    )
    matrix = torch.eye(first.shape[1], requires_grad=True)
    optimizer = torch.optim.Adam([matrix], lr=parameters["learning_rate"])
    drop = torch.nn.Dropout(parameters["dropout"])
    epochs, kept = list(parameters["strengths"]), {}
    for epoch in range(1, max(epochs) + 1):
        for rows in torch.randperm(len(wanted)).split(parameters["batch_size"]):
            mapped = (drop(vectors[rows]) @ matrix for vectors in (first, second))
            error = torch.nn.functional.cosine_similarity(*mapped) - wanted[rows]
            optimizer.zero_grad()
            (error**2).mean().backward()
            optimizer.step()
        if epoch in epochs:
            kept[str(epochs.index(epoch))] = matrix.detach().numpy().copy()
    return kept, {"pairs": len(wanted)}


def move_documents(task):
    """Move documents towards the queries that they answer, by NUDGE; strengths are its gamma."""
    import nudge
    import numpy as np

    parameters = task["parameters"]
    documents, queries = (task[name].astype("float32") for name in ("documents", "queries"))
    answers = [[] for _ in queries]
    for query, document in task["answers"].tolist():
        answers[query].append(document)
    known = {"q_embs": queries, "q_ans_indx": answers}
    # with a given gamma the validation queries decide nothing
    unused = {"q_embs": queries[:1], "q_ans_indx": [answers[0] or [0]]}
    program = getattr(nudge, parameters["variant"])()
    moved = {
        str(k): np.asarray(program.finetune_embeddings(documents, known, unused, gamma=gamma))
        for k, gamma in enumerate(parameters["strengths"])
    }
    return moved, {}


def warm_up(name):
    """Take one step of training: PyTorch imports its optimisers when they are first used."""
    import numpy as np

    if name == "train_matrix":
        parameters = {"strengths": [1], "batch_size": 2, "dropout": 0.0, "learning_rate": 1e-3}
        pairs = {key: np.eye(2) for key in ("first", "second")} | {"similarity": np.ones(2)}
        train_matrix({"parameters": parameters, "seed": 0} | pairs)

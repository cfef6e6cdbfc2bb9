def embeddings_page(parts):
    return {}


def draw(parts, path):
    return

"""Attacks: findings are stored while an attack goes on."""

from frobmetric_paper.bench import attack
from frobmetric_paper.harness.benchmark import Options


def test_findings_are_stored_while_an_attack_goes_on(monkeypatch):
    suite = attack.suite()

    def run(count, seed):
        found = suite.Findings()
        for number in range(count):
            found.add_defect("kind", "outcome", f"number {number}")
        return found

    stored = []
    options = Options(is_quick=True, store=lambda data: stored.append(data["n_tries"]))
    monkeypatch.setattr(attack, "PAUSE", -1.0)
    data = attack.measure(suite.Attack("test", run, short=3, long=5), options)
    assert (stored, data["n_tries"], data["n_defects"]) == ([1, 2, 3], 3, 3)
    assert attack.page({"test": data})["attacks"][0]["tries"] == "3"
    stopped = data | {"n_planned": 1000}
    assert attack.page({"test": stopped})["attacks"][0]["tries"] == "3 of 1,000, stopped"

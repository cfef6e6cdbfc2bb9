"""Ask for known vulnerabilities of the installed dependencies, by pip-audit: `make audit`.

pip-audit asks a service on the internet. It ends with a traceback if the service cannot be reached,
and finds nothing in packages that the service does not know, which is no good news. Here both are
one clear statement, and exit code 1.
"""

import json
import subprocess
import sys

COMMAND = ["-m", "pip_audit", "--skip-editable", "--progress-spinner", "off", "--format", "json"]
#: Names of packages in one line of a statement.
SHOWN = 5


def evaluate(output, errors):
    """Return what an audit found, in words, and whether all dependencies are good."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, TypeError, KeyError):  # no JSON, or not that of pip-audit
        packages = []
    if not packages:
        reason = (errors.strip().splitlines() or ["no reason given"])[-1]
        return f"not audited: the service of pip-audit gave no answer ({reason})", False
    bad = [
        f"{each['name']} {each['version']}: {found['id']}, fixed in "
        f"{', '.join(found['fix_versions']) or 'no version'}"
        for each in packages
        for found in each.get("vulns", ())
    ]
    skipped = [
        each["name"]
        for each in packages
        if "skip_reason" in each and "editable" not in each["skip_reason"]
    ]
    lines = [f"{len(bad)} known vulnerabilities", *bad]
    if skipped:
        names = ", ".join(skipped[:SHOWN]) + (", ..." if len(skipped) > SHOWN else "")
        lines.append(
            f"not audited: {len(skipped)} of {len(packages)} packages, which the service does not "
            f"know ({names}); it is that of pypi.org, which mirrors do not have"
        )
    return "\n".join(lines), not (bad or skipped)


def main():
    """Run the audit; return the exit code."""
    done = subprocess.run([sys.executable, *COMMAND], capture_output=True, text=True)
    text, is_good = evaluate(done.stdout, done.stderr)
    print(text)  # noqa: T201
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())

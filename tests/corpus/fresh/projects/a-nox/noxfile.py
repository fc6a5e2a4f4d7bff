import nox


@nox.session(venv_backend="none")
def lint(session):
    session.run("ruff", "check", "--output-format=grouped", ".")


@nox.session(venv_backend="none")
def types(session):
    session.run("mypy", "pkg")

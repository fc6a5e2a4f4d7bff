#!/bin/sh
# Ships the tree that `verify-run gate run --ship` approved: a branch, a commit, a push and a pull request.
#
# Copy it to a place of your own, because no repository may name the command that ships, and write into your settings
# (~/.config/verify-run/verify-run.toml):
#
#   [gate.ship]
#   command = ["/home/you/bin/ship.sh"]
#   makes_branch = true
#
# Nothing is pushed before the tree of the commit is the approved one. SHIP_REMOTE names another remote than origin.
set -eu

fail() {
    printf 'ship.sh: %s\n' "$1" >&2
    exit 1
}

tree=${VERIFY_RUN_TREE:?is set by verify-run gate run --ship}
remote=${SHIP_REMOTE:-origin}
branch=${VERIFY_RUN_BRANCH:-}
feature=$(printf '%s' "${VERIFY_RUN_FEATURE:-the change}" | tr '\n\r\t' '   ' | cut -c1-60)
case ${VERIFY_RUN_KIND:-feature} in
    feature) type=feat ;;
    *) type=$VERIFY_RUN_KIND ;;
esac

# The folders that no evaluation looks at, one on each line.
excluded() {
    printf '%s\n' "${VERIFY_RUN_EXCLUDED:-}" | sed '/^$/d'
}

# The tree of HEAD without these folders.
shipped_tree() {
    GIT_INDEX_FILE=$(git rev-parse --git-dir)/ship-index.$$
    export GIT_INDEX_FILE
    git read-tree HEAD
    excluded | while IFS= read -r folder; do
        git rm -r --quiet --cached --ignore-unmatch -- ":(top,literal)$folder"
    done
    git write-tree
    rm -f -- "$GIT_INDEX_FILE"
}

default=$(git symbolic-ref --quiet --short "refs/remotes/$remote/HEAD" || true)
default=${default#"$remote/"}
case $branch in
    '' | main | master | develop | "$default")
        slug=$(printf '%s' "$feature" | LC_ALL=C tr '[:upper:]' '[:lower:]' | LC_ALL=C tr -cs 'a-z0-9' '-')
        slug=${slug#-}
        branch=$type/${slug%-}
        git switch --quiet -c "$branch"
        ;;
esac

git add --all -- ':(top)'
if ! git diff --cached --quiet; then
    git commit --quiet -m "$type: $feature" -m "Evaluation: ${VERIFY_RUN_EVALUATION:-unknown}"
fi
[ "$(shipped_tree)" = "$tree" ] || fail "the commit has another tree than $tree: nothing was pushed"

git push --quiet --set-upstream "$remote" "HEAD:refs/heads/$branch"
if ! command -v gh >/dev/null; then
    echo 'ship.sh: gh is not installed: there is no pull request'
elif gh pr view "$branch" >/dev/null 2>&1; then
    echo "ship.sh: $branch has a pull request already"
else
    gh pr create --head "$branch" --title "$type: $feature" --body-file "${VERIFY_RUN_REPORT:?names the report}"
fi

# verify-run in fish, 3.1 and later: verify-run init fish | source
#
# Puts the folder of shims in front of PATH. An interactive shell looks before each prompt and before each command
# whether it is still there, and puts it back after whatever else has changed PATH (mise, direnv, virtualenv); that starts
# no process.

# (A path in quotes; verify-run has written it here.)
set -g __verify_run_shims @SHIMS@

function __verify_run_front --on-event fish_prompt --on-event fish_preexec
    set -q PATH[1]; and test "$PATH[1]" != "$__verify_run_shims"; and test -d "$__verify_run_shims"; or return 0
    set -l rest
    for place in $PATH
        test "$place" = "$__verify_run_shims"; or set -a rest "$place"
    end
    set -gx PATH "$__verify_run_shims" $rest
    return 0
end

# The completions are loaded when they are needed.
function __verify_run_complete
    complete --erase --command verify-run
    command verify-run completions fish 2>/dev/null | source
    complete --do-complete (commandline --cut-at-cursor | string collect)
end

__verify_run_front
if status is-interactive
    complete --command verify-run --no-files --arguments '(__verify_run_complete)'
end

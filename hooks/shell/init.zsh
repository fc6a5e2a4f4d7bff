# verify-run in zsh, 5.0 and later: eval "$(verify-run init zsh)"
#
# Puts the folder of shims in front of PATH. An interactive shell looks before each prompt and before each command
# whether it is still there, and puts it back after whatever else has changed PATH (mise, direnv, virtualenv, nvm); that
# starts no process.

# (A path in quotes; verify-run has written it here.)
typeset -g __verify_run_shims=@SHIMS@

__verify_run_front() {
    emulate -L zsh
    local rest=":$PATH:"
    [[ -z $PATH || $PATH == $__verify_run_shims || $PATH == $__verify_run_shims:* || ! -d $__verify_run_shims ]] && return 0
    while [[ $rest == *:$__verify_run_shims:* ]]; do
        rest=${rest%%:$__verify_run_shims:*}:${rest#*:$__verify_run_shims:}
    done
    rest=${rest#:}
    PATH=$__verify_run_shims:${rest%:}
}

# The completions are loaded when they are needed. Their script registers itself.
__verify_run_complete() {
    eval "$(command verify-run completions zsh 2>/dev/null)"
    (( $+functions[_verify-run] )) && _verify-run "$@"
}

# compinit may run later than this.
__verify_run_compdef() {
    emulate -L zsh
    (( $+functions[compdef] )) || return 0
    (( $+_comps[verify-run] )) || compdef __verify_run_complete verify-run
    precmd_functions=("${(@)precmd_functions:#__verify_run_compdef}")
}

# A PATH that is read-only (a restricted shell) stays what it is.
if [[ ${(t)PATH} != *readonly* ]]; then
    __verify_run_front
    if [[ -o interactive ]]; then
        typeset -ga precmd_functions preexec_functions
        [[ " ${precmd_functions[*]-} " == *' __verify_run_front '* ]] || precmd_functions+=(__verify_run_front)
        [[ " ${preexec_functions[*]-} " == *' __verify_run_front '* ]] || preexec_functions+=(__verify_run_front)
        [[ " ${precmd_functions[*]-} " == *' __verify_run_compdef '* ]] || precmd_functions+=(__verify_run_compdef)
    fi
fi

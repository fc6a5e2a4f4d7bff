# shellcheck shell=bash
# verify-run in bash, 3.2 and later: eval "$(verify-run init bash)"
#
# Puts the folder of shims in front of PATH. An interactive shell looks before each prompt whether it is still there, and
# puts it back after whatever else has changed PATH (mise, direnv, virtualenv, nvm); that starts no process.

# (A path in quotes; verify-run has written it here.)
# shellcheck disable=SC2288
__verify_run_shims=@SHIMS@

# Leaves $? as it is.
__verify_run_front() {
    local last=$? rest
    case ${PATH-} in
    '' | "$__verify_run_shims" | "$__verify_run_shims":*) ;;
    *)
        if [[ -d $__verify_run_shims ]]; then
            rest=:$PATH:
            while [[ $rest == *:"$__verify_run_shims":* ]]; do
                rest=${rest%%:"$__verify_run_shims":*}:${rest#*:"$__verify_run_shims":}
            done
            rest=${rest#:}
            PATH=$__verify_run_shims:${rest%:}
        fi
        ;;
    esac
    # Under errexit a failure that the shell has survived would end it here.
    case $- in *e*) return 0 ;; esac
    return "$last"
}

# Before a command, where bash-preexec is there. With extdebug a failure would keep the command from running.
__verify_run_preexec() {
    __verify_run_front || :
}

# The completions are loaded when they are needed; 124 makes bash look for them again.
__verify_run_complete() {
    complete -r verify-run
    eval "$(command verify-run completions bash 2>/dev/null)"
    ! complete -p verify-run >/dev/null 2>&1 || return 124
}

# A PATH that is read-only (a restricted shell) stays what it is.
if (unset PATH) 2>/dev/null; then
    __verify_run_front || :
    case $- in
    *i*)
        if [[ -n ${bash_preexec_imported:-${__bp_imported:-}} ]]; then
            # Nothing may follow bash-preexec in PROMPT_COMMAND, and what precedes it is its own.
            case " ${precmd_functions[*]-} " in
            *' __verify_run_front '*) ;;
            *) precmd_functions+=(__verify_run_front) preexec_functions+=(__verify_run_preexec) ;;
            esac
        elif (unset PROMPT_COMMAND) 2>/dev/null; then
            case "${PROMPT_COMMAND[*]-} ${STARSHIP_PROMPT_COMMAND-}" in
            *__verify_run_front*) ;;
            *)
                # The last one, after those that change PATH.
                if [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then
                    PROMPT_COMMAND+=(__verify_run_front)
                else
                    # A new line ends whatever is there.
                    # shellcheck disable=SC2128,SC2178
                    PROMPT_COMMAND=${PROMPT_COMMAND:+$PROMPT_COMMAND$'\n'}__verify_run_front
                fi
                ;;
            esac
        fi
        complete -p verify-run >/dev/null 2>&1 || complete -F __verify_run_complete -o bashdefault -o default verify-run
        ;;
    esac
fi

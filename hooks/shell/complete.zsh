#compdef verify-run
# Completion of verify-run in zsh, 5.0 and later.

_verify-run() {
    local line command='' files=''
    local -a candidates
    for line in "${(@f)$(command verify-run completions zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        case $line in
        '') ;;
        ':files') files=1 ;;
        ':command '*) command=${line#:command } ;;
        *) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    local ret=1
    (( ${#candidates} )) && _describe -V 'verify-run' candidates && ret=0
    [[ -n $files ]] && _files && ret=0
    if [[ -n $command ]]; then
        if (( CURRENT == command + 2 )); then
            _command_names -e && ret=0
        else
            words=("${(@)words[command + 2, -1]}")
            (( CURRENT -= command + 1 ))
            _normal && ret=0
        fi
    fi
    return ret
}

if [[ $funcstack[1] == _verify-run ]]; then
    _verify-run "$@"
elif (( $+functions[compdef] )); then
    compdef _verify-run verify-run
fi

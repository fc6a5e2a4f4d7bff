# shellcheck shell=bash
# Completion of verify-run in bash, 3.2 and later.

# The words up to the cursor, those that bash has broken at = together again.
__verify_run_words() {
    local i word
    __verify_run_line=()
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#__verify_run_line[@]} > 0)) && [[ $word == =* || ${COMP_WORDS[i - 1]} == = ]]; then
            __verify_run_line[${#__verify_run_line[@]} - 1]+=$word
        else
            __verify_run_line+=("$word")
        fi
    done
}

# Completes the command that begins with the word COMP_WORDS[$1], as if it stood alone.
__verify_run_command() {
    local offset=$1 name spec i function=
    if ((COMP_CWORD == offset)); then
        # Only programs: nothing else can be run without the shell.
        while IFS='' read -r name; do
            if type -P -- "$name" >/dev/null; then COMPREPLY+=("$name"); fi
        done < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
        return
    fi
    for ((i = 0; i < offset; i++)); do
        COMP_LINE=${COMP_LINE#*"${COMP_WORDS[i]}"}
        COMP_LINE=${COMP_LINE#"${COMP_LINE%%[![:space:]]*}"}
    done
    COMP_POINT=${#COMP_LINE}
    COMP_WORDS=("${COMP_WORDS[@]:offset}")
    COMP_CWORD=$((COMP_CWORD - offset))
    name=${COMP_WORDS[0]}
    if ! spec=$(complete -p -- "${name##*/}" 2>/dev/null); then
        # bash-completion loads what it knows when it is asked for.
        if declare -F _comp_load >/dev/null; then
            _comp_load -- "$name" 2>/dev/null
        elif declare -F _completion_loader >/dev/null; then
            _completion_loader "$name" 2>/dev/null
        fi
        spec=$(complete -p -- "${name##*/}" 2>/dev/null)
    fi
    case $spec in
    *' -F '*)
        function=${spec#* -F }
        function=${function%% *}
        "$function" "$name" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        ;;
    *' -W '*)
        spec=${spec#* -W \'}
        while IFS='' read -r name; do COMPREPLY+=("$name"); done \
            < <(compgen -W "${spec%%\'*}" -- "${COMP_WORDS[COMP_CWORD]}")
        ;;
    esac
    case $spec in *' -o nospace '*) compopt -o nospace 2>/dev/null ;; esac
    ((${#COMPREPLY[@]} > 0)) || __verify_run_files
}

__verify_run_files() {
    local name
    compopt -o filenames 2>/dev/null
    while IFS='' read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
}

_verify_run() {
    local __verify_run_line line command='' files=''
    COMPREPLY=()
    __verify_run_words
    while IFS='' read -r line; do
        case $line in
        ':files') files=1 ;;
        ':command '*) command=${line#:command } ;;
        *)
            line=${line%%$'\t'*}
            # Of `--option=value` bash replaces what follows the =.
            if [[ $line == --*=* && ${COMP_WORDBREAKS-} == *=* ]]; then line=${line#*=}; fi
            COMPREPLY+=("$line")
            ;;
        esac
    done < <(command verify-run completions bash -- "${__verify_run_line[@]}" 2>/dev/null)
    [[ -z $files ]] || __verify_run_files
    # The words are counted without our own, and an option's value may be in pieces here.
    [[ -z $command ]] || __verify_run_command $((command + 1 + COMP_CWORD - ${#__verify_run_line[@]}))
}

complete -F _verify_run verify-run

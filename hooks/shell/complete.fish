# Completion of verify-run in fish, 3.1 and later.

function __verify_run_candidates
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -e words[1]
    set -l current (commandline --cut-at-cursor --current-token)
    test (count $current) -gt 0; or set current ''
    for line in (command verify-run completions fish -- $words "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':command *'
                # As if the line began with that word.
                set -l first (math 1 + (string replace ':command ' '' -- $line))
                set -l rest
                test (count $words) -ge $first; and set rest (string escape -- $words[$first..-1])
                complete --do-complete (string join ' ' -- $rest "$current")
            case '*'
                echo $line
        end
    end
end

complete --command verify-run --no-files --keep-order --arguments '(__verify_run_candidates)'

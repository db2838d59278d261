# bash completion for stretto(1): stretto itself says what may come next.
_stretto() {
    local line word words=() i cur=${COMP_WORDS[COMP_CWORD]} before=

    # bash takes "=" and ":" for words of their own: put together again what was typed together
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ ${#words[@]} -gt 0 && ( $word == [=:]* || $before == [=:] ) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        before=$word
    done
    [[ $cur == [=:] ]] && cur=
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            compopt -o default 2>/dev/null
            return
        fi
        word=${line%%$'\t'*}
        [[ $word == *= ]] && compopt -o nospace 2>/dev/null
        [[ ${words[-1]} == --*=* ]] && word=${word#*=}
        COMPREPLY+=("$word")
    done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}
complete -F _stretto stretto

// The shells' side of completion: each script asks `PROGRAM completion -- WORDS...`.
#include <string>

#include "common/cli/completion.h"

namespace reveza::command_line {
namespace {

// Readline splits words at "=" and ":", and replaces only the part behind the last of them; the
// program is asked with whole words.
constexpr std::string_view kBash =
    R"script(# bash completion of @PROGRAM@; made by `@PROGRAM@ completion bash`
_@FUNCTION@_complete() {
  local line=${COMP_LINE:0:COMP_POINT} rest word joined= i last answer kind value
  local -a words=() starts=() lines=()
  rest=$line
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -n $word && $rest == "$word"* ]]; then
      joined=yes
    else
      rest=${rest#"${rest%%[![:space:]]*}"}
      joined=
    fi
    if [[ -n $joined && $i -gt 0 ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
      starts+=("$i")
    fi
    rest=${rest#"$word"}
  done
  local current=${words[${#words[@]} - 1]}
  last=${COMP_WORDS[COMP_CWORD]}
  [[ $last == [=:] ]] && last=
  local before=${current%"$last"}
  COMPREPLY=()
  answer=$("${words[0]}" completion -- "${words[@]:1}" 2>/dev/null) || return 0
  mapfile -t lines <<<"$answer"
  kind=${lines[0]}
  case $kind in
    files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$last")
      ;;
    folders)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$last")
      ;;
    command*)
      i=${starts[${kind#command } + 1]}
      if declare -F _command_offset >/dev/null; then
        _command_offset "$i"
      elif ((i == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$last")
      else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$last")
      fi
      ;;
    values)
      for word in "${lines[@]:1}"; do
        value=${word%%$'\t'*}
        value=${value#"$before"}
        [[ -n $value ]] || continue
        [[ $value != *[!A-Za-z0-9_.,:=/@%+-]* ]] || printf -v value '%q' "$value"
        COMPREPLY+=("$value")
      done
      [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[=,] ]] || compopt -o nospace 2>/dev/null
      ;;
  esac
}
complete -F _@FUNCTION@_complete @PROGRAM@
)script";

constexpr std::string_view kZsh = R"script(#compdef @PROGRAM@
# zsh completion of @PROGRAM@; made by `@PROGRAM@ completion zsh`
_@FUNCTION@() {
  local -a lines values
  local line value
  lines=("${(@f)$("${(Q)words[1]}" completion -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  case ${lines[1]} in
    files)
      compset -P '--*='
      _files
      ;;
    folders)
      compset -P '--*='
      _files -/
      ;;
    command*)
      local skip=$((${lines[1]#command } + 1))
      shift $skip words
      ((CURRENT -= skip))
      _normal
      ;;
    values)
      for line in "${(@)lines[2,-1]}"; do
        value=${${line%%$'\t'*}//:/\\:}
        if [[ $line == *$'\t'* ]]; then value+=":${line#*$'\t'}"; fi
        values+=("$value")
      done
      _describe -V '@PROGRAM@' values
      ;;
  esac
}
if [[ ${funcstack[1]} == _@FUNCTION@ ]]; then
  _@FUNCTION@ "$@"
else
  compdef _@FUNCTION@ @PROGRAM@
fi
)script";

constexpr std::string_view kFish =
    R"script(# fish completion of @PROGRAM@; made by `@PROGRAM@ completion fish`
function __@FUNCTION@_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program completion -- $words $current 2>/dev/null)
    set -l kind $lines[1]
    set -e lines[1]
    switch "$kind"
        case files folders
            set -l before (string match -r -- '^--[^=]*=' $current)
            set -l path (string replace -r -- '^--[^=]*=' '' $current)
            if test $kind = files
                __fish_complete_path $path | string replace -r -- '^' "$before"
            else
                __fish_complete_directories $path | string replace -r -- '^' "$before"
            end
        case 'command*'
            set -l skip (string replace 'command ' '' -- $kind)
            if test $skip -gt 0
                set -e words[1..$skip]
            end
            set -l line (string escape -- $words) $current
            complete -C "$line"
        case values
            for line in $lines
                echo -- $line
            end
    end
end
complete -c @PROGRAM@ -f -a '(__@FUNCTION@_complete)'
)script";

std::string Fill(std::string_view script, std::string_view program) {
  std::string text(script);
  std::string function(program);
  for (char& c : function) {
    if (c == '-') c = '_';
  }
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  };
  replace("@PROGRAM@", program);
  replace("@FUNCTION@", function);
  return text;
}

}  // namespace

std::string CompletionScript(std::string_view shell, std::string_view program) {
  if (shell == "bash") return Fill(kBash, program);
  if (shell == "zsh") return Fill(kZsh, program);
  if (shell == "fish") return Fill(kFish, program);
  return "";
}

}  // namespace reveza::command_line

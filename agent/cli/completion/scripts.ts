/** Completion scripts of shells. Each asks `nodeagent complete` for the candidates of the line up to the cursor, one
 *  per line: text, tab, description; the line `:files` asks for file names. Pure. */

export type Shell = 'bash' | 'zsh' | 'fish';

const BASH = `# Completion of nodeagent for bash. Load it with: source <(nodeagent completion bash)
_nodeagent() {
  local IFS=$'\\n' cur="\${COMP_WORDS[COMP_CWORD]}" line text
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default
      return
    fi
    text="\${line%%$'\\t'*}"
    # The shell splits words at "=" and ":": only the rest of the word is completed.
    if [[ $text == -*=* && $cur != -* ]]; then
      text="\${text#*=}"
    fi
    [[ $cur == "=" ]] && cur=""
    if [[ $text == "$cur"* ]]; then
      [[ $text == *= ]] && compopt -o nospace
      COMPREPLY+=("$text")
    fi
  done < <(nodeagent complete "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -F _nodeagent nodeagent
`;

const ZSH = `#compdef nodeagent
# Completion of nodeagent for zsh. Load it with: source <(nodeagent completion zsh)
_nodeagent() {
  local line text
  local -a texts descriptions
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      _files
      return
    fi
    text="\${line%%$'\\t'*}"
    texts+=("$text")
    descriptions+=("$text  \${line#*$'\\t'}")
  done < <(nodeagent complete "$LBUFFER" 2>/dev/null)
  compadd -d descriptions -a texts
}
if [[ $funcstack[1] == _nodeagent ]]; then
  _nodeagent
else
  (( $+functions[compdef] )) || { autoload -U compinit && compinit -u; }
  compdef _nodeagent nodeagent
fi
`;

const FISH = `# Completion of nodeagent for fish. Load it with: nodeagent completion fish | source
function __nodeagent_complete
  set -l lines (nodeagent complete (commandline -cp | string collect) 2>/dev/null)
  for line in $lines
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c nodeagent -f -a '(__nodeagent_complete)'
`;

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

export const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];

export const completionScript = (shell: Shell): string => SCRIPTS[shell];

import { type Command, type Option, optionsOf, takesValue } from './command.ts';

type Commands = ReadonlyMap<string, Command>;

/** It knows the commands of this version, and asks nothing: a key must not wait for a process to start. */
export const completionFor = (shell: 'bash' | 'zsh' | 'fish', commands: Commands): string =>
  shell === 'fish' ? forFish(commands) : shell === 'zsh' ? forZsh(commands) : forBash(commands);

/** The words that may follow each beginning of a command, of which the first is nothing. */
function nextWords(commands: Commands): Map<string, Set<string>> {
  const next = new Map([['', new Set<string>()]]);
  for (const name of commands.keys()) {
    const words = name.split(' ');
    for (const [index, word] of words.entries()) {
      const begun = words.slice(0, index).join(' ');
      next.set(begun, (next.get(begun) ?? new Set()).add(word));
    }
  }
  next.get('')?.add('help');
  return next;
}

const operandChoices = ({ operands = {} }: Command) => Object.values(operands).flatMap(({ oneOf = [] }) => oneOf);

function forBash(commands: Commands): string {
  const words = [...nextWords(commands)].map(([begun, next]) => `    ${quoted(begun)}) next=${quoted(next)} ;;`);
  const named = [...commands].map(([name, command]) => {
    const flags = Object.keys(optionsOf(command)).map((option) => `--${option}`);
    const values = operandChoices(command);
    return `    ${quoted(name)}) flags=${quoted(flags)}${values.length > 0 ? ` values=${quoted(values)}` : ''} ;;`;
  });
  const valued = [...commands].flatMap(([name, command]) =>
    Object.entries(optionsOf(command))
      .filter(([, option]) => takesValue(option))
      .map(([option, { oneOf = [] }]) => `    ${quoted(`${name} --${option}`)}) values=${quoted(oneOf)} ;;`),
  );
  // Its names are none of those that zsh gives a meaning, such as path, words and options.
  return `# Completion of signet; in ~/.bashrc: source <(signet completion bash)
_signet_after() {
  next= flags= values=
  case $1 in
${words.join('\n')}
  esac
  case $1 in
    '') flags='--help --version' ;;
${named.join('\n')}
  esac
}
_signet_values() {
  values=
  case $1 in
${valued.join('\n')}
    *) return 1 ;;
  esac
}
_signet() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} typed= next= flags= values= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ $i == 1 && \${COMP_WORDS[i]} == help ]] && continue
    _signet_after "$typed"
    [[ " $next " == *" \${COMP_WORDS[i]} "* ]] || { [[ -n $next ]] && return; break; }
    typed="\${typed:+$typed }\${COMP_WORDS[i]}"
  done
  [[ $current == '=' ]] && current=
  [[ $previous == '=' ]] && previous=\${COMP_WORDS[COMP_CWORD-2]}
  if ! _signet_values "$typed $previous"; then
    _signet_after "$typed"
    [[ $current == -* ]] && values=$flags || values="$next $values"
  fi
  COMPREPLY=($(compgen -W "$values" -- "$current"))
}
complete -o default -F _signet signet`;
}

const forZsh = (commands: Commands): string => `# In ~/.zshrc: source <(signet completion zsh)
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${forBash(commands).replace(/^#.*\n/, '')}`;

function forFish(commands: Commands): string {
  const words = [...nextWords(commands)].flatMap(([begun, next]) =>
    [...next].map((word) => {
      const summary = commands.get(`${begun} ${word}`.trim())?.summary;
      const described = summary ? ` -d ${quoted(summary)}` : '';
      return `complete -c signet -n ${quoted(`__signet_at ${begun}`.trim())} -a ${word}${described}`;
    }),
  );
  const rest = [...commands].flatMap(([name, command]) => {
    const begin = `complete -c signet -n ${quoted(`__signet_in ${name}`)}`;
    const values = operandChoices(command);
    return [
      ...Object.entries(optionsOf(command)).map(([option, one]) => `${begin} -l ${option}${fishValue(one)}`),
      ...(values.length > 0 ? [`${begin} -a ${quoted(values)}`] : []),
      ...('file' in (command.operands ?? {}) ? [`${begin} -F`] : []),
    ];
  });
  return `# Completion of signet; in ~/.config/fish/config.fish: signet completion fish | source
function __signet_typed
  set -l typed (commandline -opc)
  set -e typed[1]
  test "$typed[1]" = help; and set -e typed[1]
  string join \\n -- $typed
end
function __signet_at
  set -l typed (__signet_typed)
  test "$typed" = "$argv"
end
function __signet_in
  set -l typed (__signet_typed)
  set -l last (count $argv)
  test "$typed[1..$last]" = "$argv"
end
complete -c signet -f
complete -c signet -n __signet_at -l version
${[...words, ...rest].join('\n')}`;
}

const fishValue = (option: Option): string =>
  [takesValue(option) && ' -x', option.oneOf && ` -a ${quoted(option.oneOf)}`, ` -d ${quoted(option.help)}`]
    .filter(Boolean)
    .join('');

/** As fish reads it. The others read no backslash between quotes, but they get names only, which have none of these. */
function quoted(words: string | Iterable<string>): string {
  const text = typeof words === 'string' ? words : [...words].join(' ');
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

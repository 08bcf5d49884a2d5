/** Manual page and completion of bash, generated from the help of the commands. Pure. */

export interface CommandText {
  readonly name: string;
  readonly summary: string;
  /** Output of `COMMAND --help`. */
  readonly help: string;
}

export interface ProgramText {
  readonly name: string;
  readonly summary: string;
  readonly version: string;
  /** Help of the program itself: its flags. */
  readonly help: string;
  readonly commands: readonly CommandText[];
  /** Files that an administrator edits, with their purposes. */
  readonly files: readonly (readonly [path: string, what: string])[];
}

/** Escapes text for roff: backslashes, dashes, and dots and quotes that begin a line. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1');

const literal = (text: string): string => `.nf\n${roff(text.trimEnd())}\n.fi\n`;

/** Renders a manual page of section 8. @param mtimeSeconds its date */
export function renderManual(program: ProgramText, mtimeSeconds: number): string {
  const date = new Date(mtimeSeconds * 1000).toISOString().slice(0, 10);
  const { name, summary, version, help, commands, files } = program;
  return [
    `.TH ${name.toUpperCase()} 8 ${date} "${roff(version)}" "System administration"\n`,
    `.SH NAME\n${roff(name)} \\- ${roff(summary)}\n`,
    `.SH COMMANDS\n`,
    ...commands.map((each) => `.SS ${roff(each.name)}\n${roff(each.summary)}\n.PP\n${literal(each.help)}`),
    `.SH FLAGS\n${literal(help)}`,
    `.SH FILES\n`,
    ...files.map(([path, what]) => `.TP\n${roff(path)}\n${roff(what)}\n`),
  ].join('');
}

const flagsIn = (help: string): readonly string[] => [
  ...new Set(Array.from(help.matchAll(/(?<![\w-])--[a-z][a-z0-9-]*/g), ([flag]) => flag)),
];

/** Renders a completion of commands, and of the flags of each. */
export function renderCompletion({ name, help, commands }: ProgramText): string {
  const id = name.replaceAll('-', '_');
  const cases = commands.map((each) => `    ${each.name}) words='${flagsIn(each.help).join(' ')}' ;;\n`);
  const names = commands.map((each) => each.name).join(' ');
  return `# Completion of ${name} for bash, generated from its help.
_${id}() {
  local current=\${COMP_WORDS[COMP_CWORD]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ] && [[ $current != -* ]]; then
    words='${names}'
  else
    case \${COMP_WORDS[1]} in
${cases.join('')}    *) words='${flagsIn(help).join(' ')}' ;;
    esac
    [[ $current == -* ]] || return 0
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _${id} ${name}
`;
}

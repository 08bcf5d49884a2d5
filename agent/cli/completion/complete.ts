/** Decides what completes a command line. Pure; the values of the agent are fetched by the caller. */
import type { OptionSpec, OptionTable } from '../args/arguments.ts';
import type { TypedWords } from './words.ts';

/** Source of values that only the running agent or the file system knows. */
export type ValueSource = 'pods' | 'containers' | 'namespaces' | 'images' | 'files' | 'names';

export interface Candidate {
  readonly text: string;
  readonly description: string;
}

export type Completion =
  | { readonly kind: 'fixed'; readonly candidates: readonly Candidate[] }
  | {
      readonly kind: 'values';
      readonly source: ValueSource;
      /** Precedes each value, such as `--container=`. */
      readonly prefix: string;
      /** Value of `-n`. */
      readonly namespace: string | undefined;
      /** Operands before the cursor. */
      readonly operands: readonly string[];
    };

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: OptionTable;
}

/** What the operands of a command are, in order; the last one repeats. */
const OPERANDS: Readonly<Record<string, readonly (ValueSource | 'types' | 'shells' | 'commands')[]>> = {
  get: ['types', 'names'],
  describe: ['pods'],
  inspect: ['pods'],
  logs: ['pods', 'containers'],
  exec: ['pods'],
  attach: ['pods'],
  debug: ['pods'],
  restart: ['pods'],
  cp: ['pods', 'files'],
  'port-forward': ['pods'],
  delete: ['types', 'names'],
  edit: ['types', 'names'],
  patch: ['types', 'names'],
  wait: ['types', 'names'],
  explain: ['types'],
  validate: ['files'],
  apply: ['files'],
  diff: ['files'],
  pull: ['images'],
  rmi: ['images'],
  save: ['images'],
  load: ['files'],
  completion: ['shells'],
  help: ['commands'],
};

const OPTION_VALUES: Readonly<Record<string, ValueSource | readonly string[]>> = {
  namespace: 'namespaces',
  container: 'containers',
  filename: 'files',
  'patch-file': 'files',
  'certificate-authority': 'files',
  config: 'files',
  socket: 'files',
  output: ['json', 'yaml', 'name', 'wide', 'jsonpath=', 'custom-columns='],
  'dry-run': ['client', 'server'],
  sort: ['cpu', 'memory', 'storage', 'name'],
  for: ['condition=Ready', 'delete', 'create', 'jsonpath='],
};

const TYPES = [
  'pods',
  'events',
  'configmaps',
  'secrets',
  'persistentvolumes',
  'persistentvolumeclaims',
  'endpoints',
];
const SHELLS = ['bash', 'zsh', 'fish'];

const fixed = (texts: readonly string[], current: string): Completion => ({
  kind: 'fixed',
  candidates: texts.filter((text) => text.startsWith(current)).map((text) => ({ text, description: '' })),
});

const NOTHING = fixed([], '');

/** @param commands all commands; only the used one needs its options */
export function decideCompletion(
  { before, current }: TypedWords,
  commands: readonly Pick<CompletedCommand, 'name' | 'summary'>[],
  command: CompletedCommand | undefined,
): Completion {
  if (before.length === 0) return commandNames(commands, current);
  if (command === undefined || before.includes('--')) return NOTHING;
  const { options } = command;
  const words = readWords(before.slice(1), options);
  if (words.open !== undefined) return optionValue(words.open, current, '', words);
  if (current.startsWith('--') && current.includes('=')) {
    const equals = current.indexOf('=');
    return optionValue(
      current.slice(2, equals),
      current.slice(equals + 1),
      current.slice(0, equals + 1),
      words,
    );
  }
  if (current.startsWith('-')) return optionNames(options, current);
  return operandValue(command.name, commands, current, words);
}

function commandNames(
  commands: readonly Pick<CompletedCommand, 'name' | 'summary'>[],
  current: string,
): Completion {
  const all = [
    ...commands,
    { name: 'help', summary: 'show help' },
    { name: 'run', summary: 'run the agent' },
  ];
  return {
    kind: 'fixed',
    candidates: all
      .filter(({ name }) => name.startsWith(current))
      .map(({ name, summary }) => ({ text: name, description: summary })),
  };
}

interface ReadWords {
  readonly operands: readonly string[];
  readonly namespace: string | undefined;
  /** Name of the option whose value is at the cursor. */
  readonly open: string | undefined;
}

function readWords(words: readonly string[], options: OptionTable): ReadWords {
  const operands: string[] = [];
  let namespace: string | undefined;
  let open: string | undefined;
  for (const word of words) {
    if (open !== undefined) {
      if (open === 'namespace') namespace = word;
      open = undefined;
    } else if (!word.startsWith('-') || word === '-') operands.push(word);
    else {
      const equals = word.indexOf('=');
      const [name, spec] = findOption(equals < 0 ? word : word.slice(0, equals), options);
      if (spec?.type === 'string' && equals < 0) open = name;
      else if (name === 'namespace') namespace = word.slice(equals + 1);
    }
  }
  return { operands, namespace, open };
}

/** Finds `--namespace`, `-n` or the last letter of `-it`. */
function findOption(word: string, options: OptionTable): readonly [string, OptionSpec | undefined] {
  if (word.startsWith('--')) {
    const name = word.slice(2);
    return [name, Object.hasOwn(options, name) ? options[name] : undefined];
  }
  return Object.entries(options).find(([, { short }]) => short === word.at(-1)) ?? ['', undefined];
}

function optionValue(name: string, current: string, prefix: string, words: ReadWords): Completion {
  const values = Object.hasOwn(OPTION_VALUES, name) ? OPTION_VALUES[name] : undefined;
  if (values === undefined) return NOTHING;
  if (typeof values === 'string') return valuesOf(values, prefix, words);
  return fixed(
    values.filter((value) => value.startsWith(current)).map((value) => `${prefix}${value}`),
    '',
  );
}

const valuesOf = (source: ValueSource, prefix: string, { namespace, operands }: ReadWords): Completion => ({
  kind: 'values',
  source,
  prefix,
  namespace,
  operands,
});

function optionNames(options: OptionTable, current: string): Completion {
  const names = Object.entries(options).map(([name, { help }]) => ({ text: `--${name}`, description: help }));
  return { kind: 'fixed', candidates: names.filter(({ text }) => text.startsWith(current)) };
}

function operandValue(
  name: string,
  commands: readonly Pick<CompletedCommand, 'name' | 'summary'>[],
  current: string,
  words: ReadWords,
): Completion {
  const kinds = Object.hasOwn(OPERANDS, name) ? (OPERANDS[name] ?? []) : [];
  const kind = kinds[words.operands.length] ?? kinds.at(-1);
  if (kind === undefined) return NOTHING;
  if (kind === 'types') return fixed(TYPES, current);
  if (kind === 'shells') return fixed(SHELLS, current);
  return kind === 'commands' ? commandNames(commands, current) : valuesOf(kind, '', words);
}

/** Parser for the arguments of a command, driven by its option table. Pure; throws only UsageErrors. */
import { parseArgs } from 'node:util';
import { nearest } from '#api/kit/text/suggest.ts';
import { UsageError } from '../errors.ts';

export interface OptionSpec {
  readonly type: 'boolean' | 'string';
  readonly short?: string;
  /** The option may be repeated. */
  readonly multiple?: true;
  /** Placeholder for the value in the help, such as `NAME`. */
  readonly value?: string;
  readonly help: string;
}

export type OptionTable = Readonly<Record<string, OptionSpec>>;

export interface Arguments<Name extends string = string> {
  /** Reports whether a boolean option is set and not `=false`. */
  has(name: Name): boolean;
  /** Returns the last value given. */
  text(name: Name): string | undefined;
  texts(name: Name): readonly string[];
  readonly positionals: readonly string[];
  /** Arguments after `--`; undefined without `--`. */
  readonly rest: readonly string[] | undefined;
}

/** Parses options and operands in any order; `--` ends both.
 *  @param hint appended to the error for an unknown option without a similar name
 *  @throws UsageError naming the argument and the accepted values */
export function parseArguments<const Table extends OptionTable>(
  argv: readonly string[],
  options: Table,
  hint = '',
): Arguments<Extract<keyof Table, string>> {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const { tokens } = parseArgs({
    args: [...own],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(Object.entries(options).map(([name, spec]) => [name, parserOption(spec)])),
  });
  const given = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name } = token;
    const value = optionValue(token, options, hint);
    given.set(name, options[name]?.multiple === true ? [...(given.get(name) ?? []), value] : [value]);
  }
  return {
    has: (name) => given.get(name)?.at(-1) === 'true',
    text: (name) => given.get(name)?.at(-1),
    texts: (name) => given.get(name) ?? [],
    positionals,
    rest: end < 0 ? undefined : argv.slice(end + 1),
  };
}

function parserOption({ type, short }: OptionSpec): { type: 'boolean' | 'string'; short?: string } {
  return short === undefined ? { type } : { type, short };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
}

function optionValue({ name, rawName, value }: OptionToken, options: OptionTable, hint: string): string {
  const spec = Object.hasOwn(options, name) ? options[name] : undefined;
  if (spec === undefined) throw new UsageError(unknownOption(name, rawName, options, hint));
  if (spec.type === 'boolean') {
    if (value === undefined) return 'true';
    if (value === 'true' || value === 'false') return value;
    throw new UsageError(`${rawName}: invalid value ${JSON.stringify(value)}: must be true or false`);
  }
  if (value === undefined) throw new UsageError(`${rawName} requires a value: ${spec.value ?? 'VALUE'}`);
  // Accept `-n=web` as `-n web`.
  return rawName.startsWith('--') || !value.startsWith('=') ? value : value.slice(1);
}

function unknownOption(name: string, rawName: string, options: OptionTable, hint: string): string {
  const found = name.length > 1 ? nearest(name, Object.keys(options)) : undefined;
  const advice = found === undefined ? hint : `did you mean --${found}?`;
  return `unknown option ${rawName}${advice === '' ? '' : `; ${advice}`}`;
}

/** Parses a non-negative integer.
 *  @throws UsageError */
export function parseCount(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) {
    throw new UsageError(`${option}: invalid value ${JSON.stringify(text)}: must be a non-negative integer`);
  }
  return Number(text);
}

/** Parses one of a fixed set of values.
 *  @throws UsageError listing them */
export function parseChoice<const Choice extends string>(
  option: string,
  text: string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new UsageError(
    `${option}: invalid value ${JSON.stringify(text)}: must be one of ${choices.join(', ')}`,
  );
}

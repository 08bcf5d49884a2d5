/** Splits a command line into flags and their texts with yargs. Converts and drops nothing: values stay
 *  texts, every occurrence is retained, and anything that is not a known flag is an error. */

import { nearest } from '#api/kit/text/suggest.ts';
import type { ConfigError } from '../errors.ts';
import type { Setting } from '../setting.ts';
import { FLAG_BY_NAME, type FlagEntry, SETTINGS } from '../table.ts';
import { canonicalFlag, upstreamFlag } from '../upstream.ts';
import { createFlagParser } from './yargs.ts';

/** A flag on the command line. */
export interface GivenFlag {
  readonly entry: FlagEntry;
  /** As written, with its dashes. */
  readonly spelled: string;
  /** The text of each occurrence, in order. */
  readonly texts: readonly string[];
}

export interface FlagScan {
  readonly flags: readonly GivenFlag[];
  readonly errors: readonly ConfigError[];
}

const flagEntry = (name: string): FlagEntry | undefined => FLAG_BY_NAME.get(canonicalFlag(name));

/** `--name`, or `-n` for a name of one letter. */
function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

/** Flags that are valid without a value: booleans, and `--version`. */
const needsNoValue = ({ key, type }: Setting): boolean => type === 'bool' || key === 'version';

/** `-h` and `-v`, by their letter. */
const SHORT_NAMES: ReadonlyMap<string, string> = new Map(
  SETTINGS.flatMap(({ flags }) =>
    flags.flatMap(({ name, short }) => (short === undefined ? [] : [[short, name] as const])),
  ),
);

/** Appends the value to a bare boolean `--x`, so that `--x text` does not consume the text, as upstream does.
 */
function spellOutBooleans(token: string): string {
  const name = token.startsWith('--') ? token.slice(2) : (SHORT_NAMES.get(token.slice(1)) ?? '');
  const entry = token.startsWith('-') ? flagEntry(name) : undefined;
  return entry !== undefined && needsNoValue(entry.setting) ? `--${name}=true` : token;
}

/** `-config` for `--config`: yargs would read it as single letters, so it is removed and reported. */
function singleDashError(token: string): ConfigError | undefined {
  const name = /^-(?<name>[A-Za-z][\w-]+)(?:=.*)?$/.exec(token)?.groups?.['name'];
  if (name === undefined || flagEntry(name) === undefined) return undefined;
  return { kind: 'FieldUnknown', field: `-${name}`, detail: `a long flag has two dashes: --${name}` };
}

/** Field paths reduced to their letters, so that `--static-pod-path` finds `staticPodPath`. */
const FLAG_BY_FIELD_LETTERS: ReadonlyMap<string, string> = new Map(
  SETTINGS.flatMap(({ key, flags }) =>
    flags[0] === undefined ? [] : [[lettersOf(key), flags[0].name] as const],
  ),
);

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

function unknownFlag(name: string): ConfigError {
  const positive = name.startsWith('no-') ? flagEntry(name.slice(3)) : undefined;
  const names = [...FLAG_BY_NAME.keys()].flatMap((own) => [own, upstreamFlag(own) ?? own]);
  const found = FLAG_BY_FIELD_LETTERS.get(lettersOf(name)) ?? nearest(name, names);
  const meant =
    positive?.setting.type === 'bool'
      ? `${dashed(name.slice(3))}=false`
      : found === undefined
        ? undefined
        : dashed(found);
  const hint = meant === undefined ? '; --help lists all flags' : `; did you mean ${meant}?`;
  return { kind: 'FieldUnknown', field: dashed(name), detail: `no such flag${hint}` };
}

/** Returns the spelling of a flag on the command line: ours, upstream's, or the short one. */
function spellingOf(entry: FlagEntry, tokens: readonly string[]): string {
  const { name, short } = entry.flag;
  const upstream = upstreamFlag(name);
  const candidates = [dashed(name), ...(upstream === undefined ? [] : [`--${upstream}`])];
  const used = candidates.find((text) =>
    tokens.some((token) => token === text || token.startsWith(`${text}=`)),
  );
  return used ?? (short === undefined ? dashed(name) : `-${short}`);
}

function asTexts(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).map(String);
}

/** Reports whether the flag has no value: the next token is a flag as well, or absent. Negative numbers are
 *  values. */
function isWithoutValue(spelled: string, tokens: readonly string[]): boolean {
  return tokens.some((token, index) => {
    const next = tokens[index + 1];
    return token === spelled && (next === undefined || /^-[^\d.]/.test(next));
  });
}

function readGiven(entry: FlagEntry, value: unknown, tokens: readonly string[]): GivenFlag | ConfigError {
  const spelled = spellingOf(entry, tokens);
  const texts = asTexts(value);
  if (isWithoutValue(spelled, tokens)) {
    return { kind: 'FieldValueRequired', field: spelled, detail: `needs a value: ${spelled}=VALUE` };
  }
  return { entry, spelled, texts };
}

/** Reads a command line, without the name of the program. */
export async function scanFlags(argv: readonly string[]): Promise<FlagScan> {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const errors: ConfigError[] = own.flatMap((token) => singleDashError(token) ?? []);
  const tokens = own.filter((token) => singleDashError(token) === undefined).map(spellOutBooleans);
  const parse = await createFlagParser();
  const { named, rest } = parse(tokens);
  const flags: GivenFlag[] = [];
  for (const [name, value] of named) {
    const entry = flagEntry(name);
    const given = entry === undefined ? unknownFlag(name) : readGiven(entry, value, tokens);
    if ('entry' in given) flags.push(given);
    else errors.push(given);
  }
  for (const text of [...rest, ...(end < 0 ? [] : argv.slice(end + 1))]) {
    const detail = 'is not a flag; the agent accepts flags only, the value of a boolean flag follows "="';
    errors.push({ kind: 'FieldValueForbidden', field: 'arguments', badValue: text, detail });
  }
  return { flags, errors };
}

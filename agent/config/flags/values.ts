/** Converts flags to values of settings. */
import { isAbsolute, resolve } from 'node:path';
import { type ConfigError, placeError } from '../errors.ts';
import type { ConfigValue } from '../reader.ts';
import type { Setting } from '../setting.ts';
import { checkValue } from '../values/check.ts';
import { readFlagTexts } from '../values/read.ts';
import type { FlagScan, GivenFlag } from './scan.ts';

/** A value with its flag. */
export interface FlagValue {
  readonly value: ConfigValue;
  /** As written, with its dashes. */
  readonly flag: string;
}

export interface FlagValues {
  readonly values: ReadonlyMap<string, FlagValue>;
  /** Keys of settings with an invalid flag. */
  readonly faulty: ReadonlySet<string>;
  readonly errors: readonly ConfigError[];
  readonly warnings: readonly string[];
}

/** Types whose occurrences accumulate. */
const GATHERED: ReadonlySet<Setting['type']> = new Set([
  'strings',
  'map',
  'thresholds',
  'gates',
  'headers',
  'modules',
  'taints',
  'memory',
]);

/** A deprecated flag, with its announced removal. */
function removalText({ entry: { flag, setting }, spelled }: GivenFlag): string {
  const other = setting.flags.find(({ deprecated }) => deprecated === undefined);
  const details = [
    ...(flag.removedIn === undefined ? [] : [`announced for ${flag.removedIn}`]),
    ...(other === undefined ? [] : [`use --${other.name}`]),
  ];
  return details.length === 0 ? spelled : `${spelled} (${details.join(', ')})`;
}

/** Returns one line for all deprecated flags. Flags without effect are omitted: they have no replacement. */
function deprecationWarning(given: readonly GivenFlag[]): readonly string[] {
  const live = given.filter(({ entry }) => entry.setting.acted === true);
  const moving = live
    .filter(({ entry: { flag } }) => flag.deprecated === 'config-file')
    .map(({ entry: { setting }, spelled }) =>
      setting.inFile === undefined ? spelled : `${spelled} (${setting.key})`,
    );
  const leaving = live.filter(({ entry: { flag } }) => flag.deprecated === 'removal').map(removalText);
  const parts = [
    ...(moving.length === 0 ? [] : [`set these in the file given by --config: ${moving.join(', ')}`]),
    ...(leaving.length === 0 ? [] : [`these will be removed: ${leaving.join(', ')}`]),
  ];
  return parts.length === 0 ? [] : [`Deprecated flags: ${parts.join('; ')}`];
}

function repetitionWarning({ entry, spelled, texts }: GivenFlag): readonly string[] {
  if (GATHERED.has(entry.setting.type) || new Set(texts).size < 2) return [];
  const last = entry.setting.isSecret === undefined ? ` ${JSON.stringify(texts.at(-1))}` : '';
  return [`${spelled} is set ${texts.length} times; the last value${last} applies`];
}

function absolute(setting: Setting, value: ConfigValue, cwd: string): ConfigValue {
  if (setting.isPath === undefined || value.shape !== 'text' || value.value === '') return value;
  if (isAbsolute(value.value)) return value;
  return { shape: 'text', value: resolve(cwd, value.value) };
}

/** Reads every flag; relative paths start at `cwd`. */
export function readFlags(scan: FlagScan, cwd: string): FlagValues {
  const values = new Map<string, FlagValue>();
  const faulty = new Set<string>();
  const errors: ConfigError[] = [...scan.errors];
  const warnings: string[] = [...deprecationWarning(scan.flags)];
  for (const given of scan.flags) {
    const { setting } = given.entry;
    warnings.push(...repetitionWarning(given));
    const parsed = readFlagTexts(setting, given.texts);
    const fieldErrors = parsed.kind === 'ok' ? checkValue(setting, parsed.value) : parsed.errors;
    errors.push(...fieldErrors.map((error) => placeError(setting, error, { field: given.spelled })));
    const earlier = values.get(setting.key);
    if (parsed.kind === 'errors' || fieldErrors.length > 0) faulty.add(setting.key);
    else if (earlier === undefined) {
      values.set(setting.key, { value: absolute(setting, parsed.value, cwd), flag: given.spelled });
    } else warnings.push(`${given.spelled} is an alias of ${earlier.flag}, which applies`);
  }
  return { values, faulty, errors, warnings };
}

/** Reads the values of settings from text and from the values of a file. Pure. */
import { DurationError, parseDurationMs } from '#api/meta/duration.ts';
import type { Setting } from './groups/setting.ts';

export type Read = { readonly value: unknown } | { readonly problem: string };

function readText(setting: Setting, given: string, name: string): Read {
  switch (setting.type) {
    case 'integer': {
      const value = Number(given);
      const fits = /^-?\d+$/.test(given) && value >= setting.min && value <= setting.max;
      if (fits) return { value };
      return {
        problem: `${name}: ${JSON.stringify(given)} is not a whole number from ${setting.min} to ${setting.max}`,
      };
    }
    case 'number': {
      const value = Number(given);
      const fits = /^\d+(?:\.\d+)?$/.test(given) && value >= setting.min && value <= setting.max;
      if (fits) return { value };
      return {
        problem: `${name}: ${JSON.stringify(given)} is not a number from ${setting.min} to ${setting.max}`,
      };
    }
    case 'duration':
      try {
        const value = parseDurationMs(given);
        return value < 0 ? { problem: `${name}: must not be negative` } : { value };
      } catch (thrown) {
        if (!(thrown instanceof DurationError)) throw thrown;
        return {
          problem: `${name}: ${JSON.stringify(given)} is not a duration; use a value such as 30s, 5m or 1h30m`,
        };
      }
    case 'string':
      return checkChoices(name, setting.choices, [given]) ?? { value: given };
    case 'boolean':
    case 'list':
      return { problem: `${name}: takes no single text` };
    default:
      return setting satisfies never;
  }
}

function checkChoices(
  name: string,
  choices: readonly string[] | undefined,
  given: readonly string[],
): Read | undefined {
  const bad = choices === undefined ? undefined : given.find((word) => !choices.includes(word));
  return bad === undefined
    ? undefined
    : { problem: `${name}: ${JSON.stringify(bad)} is none of ${choices?.join(', ') ?? ''}` };
}

/** Reads what the parser of the command line returns for a flag.
 *  @param name what messages call it, such as `--secure-port` */
export function readSetting(setting: Setting, given: unknown, name = `--${setting.flag}`): Read {
  if (setting.type === 'list') {
    const words = (Array.isArray(given) ? given : [given])
      .flatMap((item) => (setting.whole === true ? [String(item)] : String(item).split(',')))
      .filter((word) => word !== '');
    return checkChoices(name, setting.choices, words) ?? { value: words };
  }
  if (Array.isArray(given)) return { problem: `${name} is given more than once` };
  return setting.type === 'boolean' ? { value: given === true } : readText(setting, String(given), name);
}

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/** A map such as `{AllAlpha: true}` stands for `AllAlpha=true`. */
function wordsOf(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.every(isScalar) ? value.map(String) : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  const members: readonly [string, unknown][] = Object.entries(value);
  return members.every(([, each]) => isScalar(each))
    ? members.map(([name, each]) => `${name}=${String(each)}`)
    : undefined;
}

const WANTED: Readonly<Record<Setting['type'], string>> = {
  string: 'a text',
  list: 'a list of texts, or a map of names and values',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  duration: 'a text such as 30s, 5m or 1h30m',
};

/** Reads the value of a field in a file.
 *  @param name file and field, for messages */
export function readField(setting: Setting, value: unknown, name: string): Read {
  const wrong = {
    problem: `${name}: ${JSON.stringify(value)} has the wrong type; write ${WANTED[setting.type]}`,
  };
  switch (setting.type) {
    case 'list': {
      const words = wordsOf(value);
      return words === undefined ? wrong : readSetting(setting, words, name);
    }
    case 'boolean':
      return typeof value === 'boolean' ? { value } : wrong;
    case 'integer':
    case 'number':
      return typeof value === 'number' ? readText(setting, String(value), name) : wrong;
    case 'duration':
    case 'string':
      return typeof value === 'string' ? readText(setting, value, name) : wrong;
    default:
      return setting satisfies never;
  }
}

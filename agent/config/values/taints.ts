/** Reads the taints a node registers with. */
import type { Taint } from '#api/gen/core-v1.ts';
import { parseListTexts, parseObjects } from './lists.ts';
import { invalid, mapParsed, ok, type Parsed } from './parsed.ts';
import { parseText } from './scalars.ts';

const EFFECTS: readonly Taint['effect'][] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const FORM = /^(?<key>[^=:]+)(?:=(?<value>[^=:]*))?:(?<effect>[^=:]+)$/;

function parseEffect(text: string): Parsed<Taint['effect']> {
  const effect = EFFECTS.find((one) => one === text);
  return effect === undefined ? invalid(text, `must be one of ${EFFECTS.join(', ')}`) : ok(effect);
}

function parseTaint(text: string): Parsed<Taint> {
  const { key, value, effect } = FORM.exec(text)?.groups ?? {};
  if (key === undefined || effect === undefined) {
    return invalid(text, 'must be key=value:effect or key:effect, such as dedicated=batch:NoSchedule');
  }
  return mapParsed(
    parseEffect(effect),
    (known): Taint => ({
      key,
      ...(value === undefined || value === '' ? {} : { value }),
      effect: known,
    }),
  );
}

/** Reads `key=value:effect,key:effect`, every occurrence of the flag. */
export function parseTaintTexts(texts: readonly string[]): Parsed<readonly Taint[]> {
  const read = parseListTexts(texts).map(parseTaint);
  const errors = read.flatMap((one) => (one.kind === 'errors' ? one.errors : []));
  if (errors.length > 0) return { kind: 'errors', errors };
  return ok(read.flatMap((one) => (one.kind === 'ok' ? [one.value] : [])));
}

/** Reads taints of the file. */
export function parseTaints(raw: unknown): Parsed<readonly Taint[]> {
  return parseObjects(raw, (fields): Taint => {
    const key = fields.required('key', parseText, '');
    const value = fields.optional('value', parseText);
    const effect = fields.required(
      'effect',
      (given) => {
        const text = parseText(given);
        return text.kind === 'ok' ? parseEffect(text.value) : text;
      },
      'NoSchedule',
    );
    const timeAdded = fields.optional('timeAdded', parseText);
    return {
      key,
      ...(value === undefined ? {} : { value }),
      effect,
      ...(timeAdded === undefined ? {} : { timeAdded }),
    };
  });
}

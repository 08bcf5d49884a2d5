/** Parses selectors and tolerations in annotations, and decides which toleration covers which. Pure. */

import { isDeepStrictEqual } from 'node:util';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { Toleration } from '#api/gen/core-v1.ts';
import { isWhole } from '#api/kit/int64.ts';
import { isMutableObject } from '#api/kit/object.ts';

/** Parses `a=b,c=d`; `undefined` if it is invalid. */
export function parseNodeSelector(text: string): Readonly<Record<string, string>> | undefined {
  const pairs = text.split(',').map((pair) => pair.trim().split('='));
  if (pairs.some(([key = '', , ...rest]) => key === '' || rest.length > 0)) return undefined;
  if (pairs.some((pair) => pair.length < 2)) return undefined;
  return Object.fromEntries(pairs.map(([key = '', value = '']) => [key, value]));
}

const isText = (value: unknown): boolean => value === undefined || typeof value === 'string';

export function isToleration(value: unknown): value is Toleration {
  if (!isMutableObject(value)) return false;
  const { key, operator, value: wanted, effect, tolerationSeconds } = value;
  return (
    [key, operator, wanted, effect].every(isText) &&
    (tolerationSeconds === undefined || isWhole(tolerationSeconds))
  );
}

/** Parses a JSON list of tolerations; `undefined` if it is invalid. */
export function parseTolerations(text: string): readonly Toleration[] | undefined {
  try {
    const found: unknown = parseJsonText(text);
    return Array.isArray(found) && found.every(isToleration) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the first covers all that the second does. */
export function tolerates(wider: Toleration, narrower: Toleration): boolean {
  if (isDeepStrictEqual(wider, narrower)) return true;
  const { key = '', operator = 'Equal', value = '', effect, tolerationSeconds } = wider;
  const everyKey = key === '' && operator === 'Exists';
  if (!everyKey && key !== (narrower.key ?? '')) return false;
  if (effect !== undefined && effect !== narrower.effect) return false;
  if (effect === 'NoExecute' && tolerationSeconds !== undefined) {
    const seconds = narrower.tolerationSeconds;
    if (seconds === undefined || seconds > tolerationSeconds) return false;
  }
  return (
    operator === 'Exists' || ((narrower.operator ?? 'Equal') === 'Equal' && (narrower.value ?? '') === value)
  );
}

/** Without those that another covers. */
export function mergeTolerations(all: readonly Toleration[]): readonly Toleration[] {
  return all.filter((each, index) =>
    all.every((other, at) => {
      if (at === index || !tolerates(other, each)) return true;
      // Of two that cover each other the first stays.
      return tolerates(each, other) && index < at;
    }),
  );
}

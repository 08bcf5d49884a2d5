/** The default rules as data, and what their conditions and sources mean. Pure.
 *  Source: schema/data/defaults.json; facts README, Other files. */
import { createRequire } from 'node:module';
import { formatQuantity, parseQuantity, QuantityError, roundUpToMilli } from '../meta/quantity.ts';
import { remember } from './remember.ts';

export type JsonObject = Record<string, unknown>;

export interface DefaultRule {
  /** `core/v1.PodSpec` */
  readonly type: string;
  /** Members joined with dots; `[]` for every item, `<name>` for every key of a map. */
  readonly path: string;
  readonly value?: unknown;
  /** Path of the value to copy. */
  readonly from?: string;
  /** Condition beside the field being unset; must be in CONDITIONS. */
  readonly when?: string;
  readonly gate?: string;
  /** Why a rule is not for objects that leave the program. */
  readonly note?: string;
}

/** What a condition may look at. */
export interface RuleContext {
  /** The object of the rule's type. */
  readonly root: JsonObject;
  /** The object that has, or will have, the field. */
  readonly parent: JsonObject;
}

/** A rule that the table has and the program does not understand: a mistake in the program. */
export class DefaultRuleError extends Error {
  override readonly name = 'DefaultRuleError';
  readonly reason = 'UnknownDefaultRule';
}

const requireData = createRequire(import.meta.url);

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isRule = (value: unknown): value is DefaultRule =>
  isObject(value) && typeof value['type'] === 'string' && typeof value['path'] === 'string';

/** All rules in the order in which they apply. */
export const readDefaultRules: () => readonly DefaultRule[] = remember(() => {
  const data: unknown = requireData('./data/defaults.json');
  if (!isObject(data) || !Array.isArray(data['rules']))
    throw new DefaultRuleError('defaults.json has no rules');
  return data['rules'].filter(isRule);
});

/** Tag and digest of an image reference; a name without both has the tag `latest`. */
export function imageTag(image: string): string {
  const [name = ''] = image.split('@');
  const last = name.slice(name.lastIndexOf('/') + 1);
  const colon = last.indexOf(':');
  if (colon >= 0) return last.slice(colon + 1);
  return image.includes('@') ? '' : 'latest';
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const VOLUME_OWN_MEMBERS: ReadonlySet<string> = new Set(['name']);

/** Conditions by their text in the table. Each holds in addition to the field being unset. */
export const CONDITIONS: ReadonlyMap<string, (context: RuleContext) => boolean> = new Map<
  string,
  (context: RuleContext) => boolean
>([
  ['hostNetwork=true and hostPort=0', ({ root }) => root['hostNetwork'] === true],
  ['limit set and request absent', () => true],
  [
    'unset and image tag is latest or (no tag and no digest)',
    ({ parent }) => imageTag(textOf(parent['image'])) === 'latest',
  ],
  ['unset otherwise', () => true],
  ['finer than 1/1000', () => true],
  [
    'no volume source set',
    ({ root }) =>
      Object.keys(root).every((member) => VOLUME_OWN_MEMBERS.has(member) || root[member] === undefined),
  ],
  ['empty', () => true],
  ['allocatable unset and capacity set', ({ parent }) => isObject(parent['capacity'])],
]);

/** Values that the table describes instead of giving; they see the value found, if any. */
export const COMPUTED: ReadonlyMap<string, (found: unknown) => unknown> = new Map([
  ['rounded up to milli units', roundQuantity],
]);

function roundQuantity(found: unknown): unknown {
  if (typeof found !== 'string') return found;
  try {
    const quantity = parseQuantity(found);
    return quantity.nanos % 1_000_000n === 0n ? found : formatQuantity(roundUpToMilli(quantity));
  } catch (error) {
    if (error instanceof QuantityError) return found;
    throw error;
  }
}

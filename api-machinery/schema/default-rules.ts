/** The default rules as data. Pure. Source: schema/data/defaults.json; facts README, Other files. */

import { createRequire } from 'node:module';
import { isObject } from '../kit/object.ts';
import { remember } from './remember.ts';

export type JsonObject = Record<string, unknown>;

export interface DefaultRule {
  /** `core/v1.PodSpec` */
  readonly type: string;
  /** Members joined with dots; `[]` for every item, `<name>` for every key of a map, `[1]` for the item to add. */
  readonly path: string;
  readonly value?: unknown;
  /** The value in upstream's vocabulary, if it differs. */
  readonly upstreamValue?: unknown;
  /** Path of the value to copy, or a source in SOURCES. */
  readonly from?: string;
  /** Condition beside the field being unset; must be in CONDITIONS. */
  readonly when?: string;
  readonly gate?: string;
  /** Set even if there is a value; `null` removes it. */
  readonly forced?: boolean;
  /** Why a rule does not apply to objects that clients see. */
  readonly note?: string;
}

/** A rule of the table that the program does not support: a bug. */
export class DefaultRuleError extends Error {
  override readonly name = 'DefaultRuleError';
  readonly reason = 'UnknownDefaultRule';
}

const requireData = createRequire(import.meta.url);

const isRule = (value: unknown): value is DefaultRule =>
  isObject(value) && typeof value['type'] === 'string' && typeof value['path'] === 'string';

/** All rules in the order in which they apply. */
export const readDefaultRules: () => readonly DefaultRule[] = remember(() => {
  const data: unknown = requireData('./data/defaults.json');
  if (!isObject(data) || !Array.isArray(data['rules']))
    throw new DefaultRuleError('defaults.json has no rules');
  return data['rules'].filter(isRule);
});

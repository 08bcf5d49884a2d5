/** Shared support of strategy tests: objects as a client sends them, and the request around them. */
import { isObject } from '#api/kit/object.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { decode } from '#api/schema/decode.ts';
import { applyDefaults } from '#api/schema/defaults.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, KindEntry, StrategyContext } from '../contract.ts';

export const NOW = '2022-05-03T12:00:00Z';
export const NOW_MS: number = Date.parse(NOW);

export function contextWith(changes: Partial<StrategyContext> = {}): StrategyContext {
  return {
    vocabulary: VOCABULARIES.plat,
    user: { name: 'tester', groups: [], extra: {} },
    namespace: 'default',
    nowMs: NOW_MS,
    dryRun: false,
    gates: new Set(),
    ...changes,
  };
}

/** The object of this type, decoded and with its defaults. */
export function objectOf(typeRef: string, value: object): ApiObject {
  const { value: decoded } = decode<ApiObject>(typeRef, value);
  const object = applyDefaults(typeRef, decoded);
  const [, kind = ''] = /\.([^.]+)$/.exec(typeRef) ?? [];
  return { ...object, apiVersion: 'v1', kind, metadata: object.metadata ?? {} };
}

export const errorTexts = (errors: readonly FieldError[]): readonly string[] =>
  errors.map(({ kind, field }) => `${kind} ${field}`);

/** Returns the errors of a creation. */
export function createFaultsOf(
  { strategy }: KindEntry,
  object: ApiObject,
  context: StrategyContext = contextWith(),
): readonly string[] {
  return errorTexts([
    ...(strategy.validate?.(object, context) ?? []),
    ...(strategy.validateCreate?.(object, context) ?? []),
  ]);
}

/** Returns the errors of an update, through the object itself or a subresource. */
export function updateFaultsOf(
  { strategy, parts = {} }: KindEntry,
  object: ApiObject,
  old: ApiObject,
  part = '',
  context: StrategyContext = contextWith(),
): readonly string[] {
  if (part !== '') return errorTexts(parts[part]?.validateUpdate?.(object, old, context) ?? []);
  return errorTexts([
    ...(strategy.validate?.(object, context) ?? []),
    ...(strategy.validateUpdate?.(object, old, context) ?? []),
  ]);
}

/** Members in place of those that the base has, one level deep: `undefined` removes one. */
export function changed(base: object, changes: object): Record<string, unknown> {
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(changes)) {
    const before = result[name];
    const merges = isObject(before) && isObject(value);
    result[name] = merges ? { ...before, ...value } : value;
  }
  return result;
}

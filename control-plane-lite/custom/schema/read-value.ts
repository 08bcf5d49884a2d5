/** Decodes a value by its schema plan: prunes and reports unknown fields, and applies defaults. The result is
 *  new; preserved parts are shared with the input and must not be changed. Source: apiextensions/v1, pruning
 *  and defaulting. */

import { copyJson } from '#api/codec/copy-json.ts';
import { formatPath, type PathElement } from '#api/codec/limits.ts';
import { setMember } from '#api/codec/set-member.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { decode } from '#api/schema/decode.ts';
import { META_PACKAGE } from '#api/schema/registry.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { isReplaced, type SchemaPlan } from './schema-plan.ts';

export interface ReadValue {
  readonly value: unknown;
  /** Metadata of embedded objects that can't be read. */
  readonly errors: readonly FieldError[];
  /** Errors for the pruned members. */
  readonly unknown: readonly FieldError[];
}

type Members = Readonly<Record<string, unknown>>;

/** Maximum number of reported errors. */
const MAX_UNKNOWN = 200;
const OBJECT_META = `${META_PACKAGE}.ObjectMeta`;
const META_MEMBERS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

class Reader {
  readonly errors: FieldError[] = [];
  readonly unknown: FieldError[] = [];
  readonly #path: PathElement[] = [];
  readonly #vocabulary: Vocabulary;
  readonly #fill: boolean;
  readonly #trustMeta: boolean;

  constructor({ vocabulary, pruneOnly = false, trustMeta = false, path = [] }: ReadValueOptions) {
    this.#vocabulary = vocabulary;
    this.#fill = !pruneOnly;
    this.#trustMeta = trustMeta;
    this.#path.push(...path);
  }

  read(plan: SchemaPlan, value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return this.#list(plan, value);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- neither a list nor null
    return this.members(plan, value as Members, plan.embedded);
  }

  #list({ items, preserve }: SchemaPlan, list: readonly unknown[]): unknown {
    if (items === undefined) return preserve ? list : list.map((item) => this.#undescribed(item));
    const result: unknown[] = [];
    for (let index = 0; index < list.length; index += 1) {
      const item = list[index];
      this.#path.push(index);
      result.push(this.#fill && isReplaced(items, item) ? copyJson(items.default) : this.read(items, item));
      this.#path.pop();
    }
    return result;
  }

  /** Reads the members of an object. `isObject`: it has apiVersion, kind and metadata regardless of the schema. */
  members(plan: SchemaPlan, value: Members, isObject: boolean): Record<string, unknown> {
    const { members, additional, preserve, filled } = plan;
    const result: Record<string, unknown> = {};
    for (const name in value) {
      const given = value[name];
      if (given === undefined) continue;
      const child = members.get(name) ?? additional;
      if (isObject && META_MEMBERS.has(name)) this.#meta(name, given, result);
      else if (child !== undefined) {
        if (given === null && isAbsent(child)) continue;
        this.#path.push(name);
        const replaced = this.#fill && isReplaced(child, given);
        setMember(result, name, replaced ? copyJson(child.default) : this.read(child, given));
        this.#path.pop();
      } else if (preserve) setMember(result, name, given);
      else this.#leaveOut(name);
    }
    if (!this.#fill) return result;
    for (const [name, child] of filled) {
      if (!Object.hasOwn(result, name)) setMember(result, name, copyJson(child.default));
    }
    return result;
  }

  #meta(name: string, given: unknown, result: Record<string, unknown>): void {
    if (name !== 'metadata' || this.#trustMeta) {
      result[name] = given;
      return;
    }
    if (given === null) return;
    const path = [...this.#path, name];
    const options = { vocabulary: this.#vocabulary, path, missingFields: 'ignore' } as const;
    const { value, errors } = decode<Members>(OBJECT_META, given, options);
    for (const error of errors) (error.kind === 'FieldUnknown' ? this.unknown : this.errors).push(error);
    result[name] = value;
  }

  /** A value that the schema says nothing of: no member of an object in it is known. */
  #undescribed(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#undescribed(item));
    if (typeof value !== 'object' || value === null) return value;
    for (const name of Object.keys(value)) this.#leaveOut(name);
    return {};
  }

  #leaveOut(name: string): void {
    if (this.unknown.length >= MAX_UNKNOWN) return;
    this.#path.push(name);
    this.unknown.push({ kind: 'FieldUnknown', field: formatPath(this.#path), detail: '' });
    this.#path.pop();
  }
}

/** Null stands for nothing where it may not be and nothing stands in for it. */
const isAbsent = (plan: SchemaPlan): boolean => !plan.nullable && plan.default === undefined;

export interface ReadValueOptions {
  readonly vocabulary: Vocabulary;
  /** Leave defaults alone. */
  readonly pruneOnly?: boolean;
  /** Metadata was read before: take it as it is. */
  readonly trustMeta?: boolean;
  readonly path?: readonly PathElement[];
}

/** Reads a value inside of an object. */
export function readValue(plan: SchemaPlan, value: unknown, options: ReadValueOptions): ReadValue {
  const reader = new Reader(options);
  return { value: reader.read(plan, value), errors: reader.errors, unknown: reader.unknown };
}

export interface ReadRoot extends ReadValue {
  readonly value: Record<string, unknown>;
}

/** Reads a whole object. */
export function readRoot(plan: SchemaPlan, value: Members, options: ReadValueOptions): ReadRoot {
  const reader = new Reader(options);
  return { value: reader.members(plan, value, true), errors: reader.errors, unknown: reader.unknown };
}

/** Decodes a value by its schema plan: prunes and reports unknown fields, and applies defaults. The result is
 *  new; preserved parts are shared with the input and must not be changed. Source: apiextensions/v1, pruning
 *  and defaulting. */

import { copyJson } from '#api/codec/copy-json.ts';
import { formatPath, type PathElement } from '#api/codec/limits.ts';
import type { MemberNames } from '#api/codec/member-names.ts';
import { setMember } from '#api/codec/set-member.ts';
import { Later } from '#api/kit/later.ts';
import type { Steps } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { DecodedTooLong, decode } from '#api/schema/decode.ts';
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
  #path: PathElement[] = [];
  readonly #vocabulary: Vocabulary;
  readonly #fill: boolean;
  readonly #trustMeta: boolean;
  readonly #names: MemberNames | undefined;
  readonly #maxLength: number;
  /** Of the JSON text of what was read so far; counted in slices only, and rather too short. */
  #length = 0;
  readonly #later: Later | undefined;

  constructor(options: ReadValueOptions, later?: Later) {
    const { vocabulary, pruneOnly = false, trustMeta = false, path = [] } = options;
    this.#later = later;
    this.#names = options.names;
    this.#maxLength = options.maxLength ?? Number.POSITIVE_INFINITY;
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
    if (items === undefined) {
      if (preserve) this.#measure(list);
      return preserve ? list : list.map((item) => this.#undescribed(item));
    }
    const result: unknown[] = [];
    if (this.#later === undefined) {
      for (let index = 0; index < list.length; index += 1) result.push(this.#item(items, list[index], index));
      return result;
    }
    const here = this.#here();
    this.#later.each(list, (item, index) => {
      this.#lengthen(1 + lengthOf(item));
      here(() => result.push(this.#item(items, item, index)));
    });
    return result;
  }

  #item(items: SchemaPlan, item: unknown, index: number): unknown {
    this.#path.push(index);
    const read = this.#fill && isReplaced(items, item) ? copyJson(items.default) : this.read(items, item);
    this.#path.pop();
    return read;
  }

  /** Does what is done later at the place that this is now. */
  #here(): (work: () => void) => void {
    const path = [...this.#path];
    return (work) => {
      const outer = this.#path;
      this.#path = path;
      work();
      this.#path = outer;
    };
  }

  /** @throws DecodedTooLong */
  #lengthen(length: number): void {
    this.#length += length;
    if (this.#length > this.#maxLength) throw new DecodedTooLong(this.#maxLength);
  }

  /** Reads the members of an object. `isObject`: it has apiVersion, kind and metadata regardless of the schema. */
  members(plan: SchemaPlan, value: Members, isObject: boolean): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    if (this.#later === undefined) {
      for (const name in value) this.#member(plan, name, value[name], isObject, result);
      this.#fillUp(plan, result);
      return result;
    }
    const names = this.#names?.of(value) ?? Object.keys(value);
    const here = this.#here();
    // Defaults are added last, as in the other decoders.
    this.#later.each([...names, ''], (name, index) => {
      here(() => {
        if (index === names.length) this.#fillUp(plan, result);
        else this.#member(plan, name, value[name], isObject, result);
      });
    });
    return result;
  }

  #member(
    { members, additional, preserve }: SchemaPlan,
    name: string,
    given: unknown,
    isObject: boolean,
    result: Record<string, unknown>,
  ): void {
    if (given === undefined) return;
    const child = members.get(name) ?? additional;
    if (isObject && META_MEMBERS.has(name)) this.#meta(name, given, result);
    else if (child !== undefined) {
      if (given === null && isAbsent(child)) return;
      if (this.#later !== undefined) this.#lengthen(name.length + MEMBER_LENGTH + lengthOf(given));
      this.#path.push(name);
      const replaced = this.#fill && isReplaced(child, given);
      setMember(result, name, replaced ? copyJson(child.default) : this.read(child, given));
      this.#path.pop();
    } else if (preserve) {
      if (this.#later !== undefined) this.#lengthen(name.length + MEMBER_LENGTH + lengthOf(given));
      this.#measure(given);
      setMember(result, name, given);
    } else this.#leaveOut(name);
  }

  /** Counts what is taken as it is. */
  #measure(value: unknown): void {
    if (this.#later === undefined || typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      this.#later.each(value, (item) => {
        this.#lengthen(1 + lengthOf(item));
        this.#measure(item);
      });
      return;
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- neither a list nor null
    const members = value as Members;
    this.#later.each(this.#names?.of(members) ?? Object.keys(members), (name) => {
      this.#lengthen(name.length + MEMBER_LENGTH + lengthOf(members[name]));
      this.#measure(members[name]);
    });
  }

  #fillUp({ filled }: SchemaPlan, result: Record<string, unknown>): void {
    if (!this.#fill) return;
    for (const [name, child] of filled) {
      if (!Object.hasOwn(result, name)) setMember(result, name, copyJson(child.default));
    }
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

/** Quotes, colon and comma. */
const MEMBER_LENGTH = 4;
/** Of the JSON text at least, without what is in it: one bracket stands for the last comma, which is not there. */
const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length + 2 : 1);

export interface ReadValueOptions {
  /** Names of members of objects in the value that have very many. */
  readonly names?: MemberNames | undefined;
  /** Length at which `readRootInSteps` gives up: that of the JSON text of the result, without its escapes. */
  readonly maxLength?: number;
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

/** The same of a large object, in short steps. @throws DecodedTooLong */
export function* readRootInSteps(
  plan: SchemaPlan,
  value: Members,
  options: ReadValueOptions,
): Steps<ReadRoot> {
  const later = new Later();
  const reader = new Reader(options, later);
  const read = reader.members(plan, value, true);
  yield* later.steps();
  return { value: read, errors: reader.errors, unknown: reader.unknown };
}

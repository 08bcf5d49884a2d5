/** Conversion of the nodes of one YAML document to a JSON-like value: keys are strings, duplicates are
 *  reported, aliases and merge keys are resolved within limits, and octal numbers of YAML 1.1 retain their
 *  meaning. */

import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type YAMLMap,
} from 'yaml';
import { isObject } from '../kit/object.ts';
import '../kit/exact-json.ts';
import { readNumber } from '../kit/int64.ts';
import type { FieldError } from '../meta/field-error.ts';
import { duplicateKey } from './json.ts';
import { formatPath, type PathElement, type TextLimits, TextSyntaxError } from './limits.ts';
import { setMember } from './set-member.ts';

export interface YamlContext {
  readonly document: Document.Parsed;
  readonly limits: TextLimits;
  /** 1-based position of an offset. */
  readonly position: (offset: number) => { readonly line: number; readonly column: number };
}

/** YAML 1.1 octal, which file modes are commonly written in; YAML 1.2 would read a decimal number. */
const OLD_OCTAL = /^[-+]?0[0-7]+$/;

/** An integer of no more digits than 64 bits can have, in any base. */
const WHOLE = /^([-+]?)0*([1-9]\d{0,18}|0x[\da-f]{1,16}|0o[0-7]{1,22})$/i;

/** Returns the exact written number where the nearest JavaScript number may differ. Upstream converts YAML to
 *  JSON first, where a number with a point or an exponent is an integer if its value is one. */
function exactNumber(nearest: number, source: string): number | bigint {
  const [, sign = '', size] = WHOLE.exec(source) ?? [];
  if (size === undefined) return readNumber(String(nearest));
  return readNumber(`${sign === '-' ? '-' : ''}${BigInt(size)}`);
}

class YamlConverter {
  readonly #context: YamlContext;
  readonly #path: PathElement[] = [];
  readonly #open = new Set<Node>();
  /** By name, in document order: an alias means the last anchor of its name before it. */
  readonly #anchors = new Map<string, Node>();
  readonly errors: FieldError[] = [];
  #aliases = 0;
  #growth = 0;

  constructor(context: YamlContext) {
    this.#context = context;
  }

  convert(node: unknown): unknown {
    if (isAlias(node)) return this.#alias(node);
    if (this.#aliases > 0) this.#grow(16);
    if (isNode(node) && node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#scalar(node.value, node.source);
    if (!isMap(node) && !isSeq(node)) return null;
    if (this.#open.has(node)) this.#fail('alias refers to the value that contains it', node);
    if (this.#open.size >= this.#context.limits.maxDepth) {
      this.#fail(`nested deeper than ${this.#context.limits.maxDepth} levels`, node);
    }
    this.#open.add(node);
    const value = isMap(node) ? this.#map(node) : node.items.map((item, index) => this.#member(index, item));
    this.#open.delete(node);
    return value;
  }

  #fail(detail: string, node: Node): never {
    const { line, column } = this.#context.position(node.range?.[0] ?? 0);
    throw new TextSyntaxError(detail, line, column);
  }

  #grow(size: number): void {
    this.#growth += size;
    if (this.#growth > this.#context.limits.maxAliasGrowth) {
      throw new TextSyntaxError('aliases make the document too large', 1, 1);
    }
  }

  #member(key: PathElement, node: unknown): unknown {
    this.#path.push(key);
    const value = this.convert(node);
    this.#path.pop();
    return value;
  }

  #alias(node: Alias): unknown {
    const target = this.#anchors.get(node.source);
    if (target === undefined) return this.#fail('alias has no anchor before it', node);
    this.#aliases += 1;
    const value = this.convert(target);
    this.#aliases -= 1;
    return value;
  }

  #scalar(value: unknown, source: string | undefined): unknown {
    if (this.#aliases > 0 && typeof value === 'string') this.#grow(value.length);
    if (typeof value !== 'number' && typeof value !== 'bigint') return value;
    if (source !== undefined && OLD_OCTAL.test(source)) {
      const nearest = Number.parseInt(source, 8);
      return Number.isSafeInteger(nearest) ? nearest : exactNumber(nearest, source.replace('0', '0o'));
    }
    if (typeof value === 'number' && !Number.isFinite(value)) {
      const field = formatPath(this.#path);
      this.errors.push({
        kind: 'FieldValueInvalid',
        field,
        badValue: source,
        detail: 'must be a finite number',
      });
      return null;
    }
    const nearest = Number(value);
    return Number.isSafeInteger(nearest) || source === undefined ? nearest : exactNumber(nearest, source);
  }

  #map(map: YAMLMap): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    const merges: unknown[] = [];
    for (const pair of map.items) {
      const key = this.#key(pair, map);
      if (key === '<<' && isMergeValue(pair.value)) {
        merges.push(this.convert(pair.value));
        continue;
      }
      if (Object.hasOwn(object, key)) {
        const { line } = this.#context.position(keyOffset(pair));
        this.errors.push(duplicateKey([...this.#path, key], line));
      }
      setMember(object, key, this.#member(key, pair.value));
    }
    for (const merge of merges) this.#merge(object, merge, map);
    return object;
  }

  #key(pair: Pair, map: YAMLMap): string {
    const key = isAlias(pair.key) ? this.#anchors.get(pair.key.source) : pair.key;
    if (isScalar(key) && key.anchor !== undefined) this.#anchors.set(key.anchor, key);
    if (key === null) return 'null';
    if (!isScalar(key)) return this.#fail('a key must be plain text', map);
    if (typeof key.value === 'string') return key.value;
    return key.source ?? String(key.value);
  }

  /** Keys of the map itself win over merged ones. */
  #merge(object: Record<string, unknown>, value: unknown, map: YAMLMap): void {
    for (const source of Array.isArray(value) ? value : [value]) {
      if (!isObject(source)) return this.#fail('a merge key (<<) needs a map or a list of maps', map);
      for (const [key, member] of Object.entries(source)) {
        if (!Object.hasOwn(object, key)) setMember(object, key, member);
      }
    }
  }
}

const isMergeValue = (node: unknown): boolean => isAlias(node) || isMap(node) || isSeq(node);

const keyOffset = (pair: Pair): number =>
  isScalar(pair.key) || isAlias(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;

/** Returns the value of a document's nodes, with an error for each duplicate key and number that JSON cannot
 *  hold.
 *  @throws TextSyntaxError for aliases without anchor, circular or too large ones, and keys that are not text */
export function convertYamlDocument(context: YamlContext): {
  readonly value: unknown;
  readonly errors: readonly FieldError[];
} {
  const converter = new YamlConverter(context);
  const value = converter.convert(context.document.contents);
  return { value, errors: converter.errors };
}

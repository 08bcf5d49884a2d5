/** Length of objects as protobuf, counted without encoding them: a lower bound, which takes each length
 *  in front of a value for one byte. Values of other types than the field's count nothing. */
import type { MemberNames } from '../codec/member-names.ts';
import { ProtobufError } from '../codec/protobuf/error.ts';
import { Later } from '../kit/later.ts';
import { isObject } from '../kit/object.ts';
import type { Steps } from '../kit/steps.ts';
import { parseTypeName } from '../schema/registry.ts';
import { remember } from '../schema/remember.ts';
import { VOCABULARIES, type Vocabulary } from '../vocabulary.ts';
import { createPlanner, isMessage, type MessagePlan } from './plan.ts';
import { BYTES, QUANTITY, STRING, TEXT_LIST, type ValueCodec } from './values.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export interface LengthOptions {
  /** Of objects in the value that have very many members. */
  readonly names?: MemberNames | undefined;
  /** Counting stops beyond it. */
  readonly most: number;
}

const plannerOf = remember((name) =>
  createPlanner(name === 'kubernetes' ? VOCABULARIES.kubernetes : VOCABULARIES.plat, readNothing),
);

function readNothing(): never {
  throw new ProtobufError('UnknownType', 'nothing is read for a length');
}

/** Returns at least how many bytes the message of an object has, without its envelope; yields after every few thousand
 *  members. */
export function* protobufLengthSteps(
  typeRef: string,
  object: object,
  vocabulary: Vocabulary,
  { names, most }: LengthOptions,
): Steps<number> {
  const plan = plannerOf(vocabulary.name)(parseTypeName(typeRef));
  const later = new Later();
  const counter = new Counter(later, names);
  if (isObject(object)) counter.message(plan, object);
  for (const _ of later.steps()) {
    if (counter.length > most) break;
    yield;
  }
  return counter.length;
}

/** A tag of one byte, and a length of one byte. */
const HEAD_LENGTH = 2;
/** Of an entry of a map, without the key's text: two heads, and the tag of the value. */
const ENTRY_LENGTH = 2 * HEAD_LENGTH + 1;
const EMPTY: JsonObject = {};

class Counter {
  length = 0;
  readonly #later: Later;
  readonly #names: MemberNames | undefined;

  constructor(later: Later, names: MemberNames | undefined) {
    this.#later = later;
    this.#names = names;
  }

  message(plan: MessagePlan, object: JsonObject): void {
    for (const field of plan.fields) {
      if (field.shape === 'inline') {
        this.length += tagLength(field.tag) + 1;
        this.message(field.message, object);
        continue;
      }
      const value = object[field.name] ?? undefined;
      if (field.shape === 'single') {
        if (value === undefined && !field.always) continue;
        this.length += tagLength(field.tag);
        this.#value(field.value, value);
      } else if (field.shape === 'list') this.#list(field.value, value, tagLength(field.tag));
      else this.#map(field.value, value);
    }
  }

  #list(codec: ValueCodec, value: unknown, tag: number): void {
    if (!Array.isArray(value)) return;
    this.#later.each(value, (item: unknown) => {
      this.length += tag;
      this.#value(codec, item);
    });
  }

  #map(codec: ValueCodec, value: unknown): void {
    if (!isObject(value)) return;
    this.#later.each(this.#namesOf(value), (name) => {
      this.length += ENTRY_LENGTH + Buffer.byteLength(name);
      this.#value(codec, value[name]);
    });
  }

  #namesOf(value: JsonObject): readonly string[] {
    return this.#names?.of(value) ?? Object.keys(value);
  }

  /** A value with its length, but without its tag. */
  #value(codec: ValueCodec, value: unknown): void {
    if (codec.wireType !== 2) {
      this.length += codec.wireType === 0 ? varintLength(value) : codec.wireType === 1 ? 8 : 4;
      return;
    }
    this.length += 1;
    if (isMessage(codec)) this.message(codec.plan, isObject(value) ? value : EMPTY);
    else if (codec === STRING) this.length += textLength(value);
    else if (codec === QUANTITY) this.length += HEAD_LENGTH + textLength(value);
    else if (codec === BYTES) this.length += base64Length(value);
    else if (codec === TEXT_LIST) this.#list(STRING, value, 1);
    else if (typeof value === 'object') this.#json(value);
  }

  /** A value whose JSON is stored; escapes do not count. */
  #json(value: unknown): void {
    if (typeof value !== 'object' || value === null) {
      this.length += typeof value === 'string' ? Buffer.byteLength(value) + '""'.length : 1;
    } else if (Array.isArray(value)) {
      this.length += 1;
      this.#later.each(value, (item: unknown) => {
        this.length += 1;
        this.#json(item);
      });
    } else if (isObject(value)) {
      this.length += 1;
      this.#later.each(this.#namesOf(value), (name) => {
        this.length += Buffer.byteLength(name) + '"":,'.length;
        this.#json(value[name]);
      });
    }
  }
}

const tagLength = (tag: number): number => (tag < 0x80 ? 1 : 2);

/** Bits of a varint's byte. */
const VARINT_BITS = 7;
const LONGEST_VARINT = 10;

function varintLength(value: unknown): number {
  if (typeof value !== 'number') return 1;
  return value < 0 ? LONGEST_VARINT : Math.max(1, Math.ceil(Math.log2(value + 1) / VARINT_BITS));
}

const textLength = (value: unknown): number => (typeof value === 'string' ? Buffer.byteLength(value) : 0);

/** The bytes that canonical base64 stands for; other forms are not decoded yet. */
const base64Length = (value: unknown): number =>
  typeof value !== 'string' || value.includes('\n') || value.includes('\r')
    ? 0
    : Buffer.byteLength(value, 'base64');

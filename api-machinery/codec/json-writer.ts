/** JSON texts of values with very many members, written in slices: the text is that of `JSON.stringify`. */
import '../kit/exact-json.ts';
import type { Steps } from '../kit/steps.ts';
import type { MemberNames } from './member-names.ts';

/** Values written at a time: a few milliseconds. */
const SLICE_VALUES = 4000;

/** An object or list that is being written. */
interface Open {
  readonly value: unknown[] | Readonly<Record<string, unknown>>;
  /** Absent: a list. */
  readonly names: readonly string[] | undefined;
  at: number;
  isFirst: boolean;
}

type Container = Open['value'];

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' &&
  value !== null &&
  typeof Reflect.get(value, 'toJSON') !== 'function' &&
  !isRaw(value);

/** Reports whether the value was created by `JSON.rawJSON`. */
const isRaw = (value: object): boolean => Object.isFrozen(value) && Object.getPrototypeOf(value) === null;

class Writer {
  text = '';
  readonly #open: Open[] = [];

  readonly #names: MemberNames | undefined;

  constructor(value: Container, names: MemberNames | undefined) {
    this.#names = names;
    this.#push(value);
  }

  get isDone(): boolean {
    return this.#open.length === 0;
  }

  #push(value: Container): void {
    this.text += Array.isArray(value) ? '[' : '{';
    const names = Array.isArray(value) ? undefined : (this.#names?.of(value) ?? Object.keys(value));
    this.#open.push({ value, names, at: 0, isFirst: true });
  }

  /** Writes as many values as fit into a slice. */
  write(): void {
    for (let left = SLICE_VALUES; left > 0; left -= 1) {
      const open = this.#open.at(-1);
      if (open === undefined) return;
      const { value, names } = open;
      if (names === undefined) this.#item(open, value);
      else this.#member(open, names, value);
    }
  }

  #item(open: Open, list: Container): void {
    if (!Array.isArray(list) || open.at >= list.length) return this.#close(']');
    const item: unknown = list[open.at];
    this.#separate(open);
    this.#value(item, 'null');
    return undefined;
  }

  #member(open: Open, names: readonly string[], object: Container): void {
    const name = names[open.at];
    if (name === undefined) return this.#close('}');
    const member: unknown = Reflect.get(object, name);
    if (member === undefined || typeof member === 'function') open.at += 1;
    else {
      this.#separate(open);
      this.text += `${JSON.stringify(name)}:`;
      this.#value(member, 'null');
    }
    return undefined;
  }

  #separate(open: Open): void {
    if (!open.isFirst) this.text += ',';
    open.isFirst = false;
    open.at += 1;
  }

  #value(value: unknown, absent: string): void {
    if (isContainer(value)) this.#push(value);
    else this.text += JSON.stringify(value) ?? absent;
  }

  #close(end: string): void {
    this.#open.pop();
    this.text += end;
  }
}

/** The text of a value; yields after every few thousand values. `names`: of objects in it with very many members. */
export function* writeJsonSteps(value: object, names?: MemberNames): Steps<Buffer> {
  if (!isContainer(value)) return Buffer.from(JSON.stringify(value));
  const writer = new Writer(value, names);
  const pieces: Buffer[] = [];
  for (;;) {
    writer.write();
    pieces.push(Buffer.from(writer.text));
    writer.text = '';
    if (writer.isDone) return Buffer.concat(pieces);
    yield;
  }
}

/** JSON texts with hundreds of thousands of members, read slice by slice: of a long object or list as many members at
 *  a time as `JSON.parse` reads in a few milliseconds. The value and its errors are those of `parseJsonBytes`. */
import { duplicateKey, findDuplicates, type JsonValue } from './json.ts';
import { parseJsonBytes, sizeOf } from './json-bytes.ts';
import { parseJsonText } from './json-text.ts';
import { DEFAULT_TEXT_LIMITS, type PathElement, type TextLimits } from './limits.ts';
import { MemberNames } from './member-names.ts';
import { setMember } from './set-member.ts';

/** Read at a time. */
const SLICE_CHARACTERS = 32 * 1024;
/** Maximum number of reported errors. */
const MAX_DUPLICATES = 100;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b;
const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d;
const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** The text is invalid or unsupported by this reader; the complete parser reports the error. */
class UnreadableSlice extends Error {
  override readonly name = 'UnreadableSlice';
}

/** A long object or list, of which some members have been read. */
interface Opened {
  readonly members: Record<string, unknown> | unknown[];
  readonly names: string[];
  /** A comma was the last that was read: more must follow. */
  isBeforeMember: boolean;
}

/** Members in the text, one after the other. */
interface Slice {
  readonly from: number;
  readonly to: number;
  /** Names of members in it, at any depth. */
  readonly names: number;
}

class SliceReader {
  readonly errors: JsonValue['errors'][number][] = [];
  readonly names: MemberNames = new MemberNames();
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #opened: Opened[] = [];
  /** Of the innermost that is open. */
  readonly #path: PathElement[] = [];
  #root: unknown = undefined;
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#skipBlank();
    if (!isOpening(text.charCodeAt(this.#at))) throw new UnreadableSlice();
    this.#root = this.#open(this.#at);
  }

  get value(): unknown {
    return this.#root;
  }

  /** Reads another slice. @returns whether there is more. @throws UnreadableSlice, SyntaxError */
  step(): boolean {
    const opened = this.#opened.at(-1);
    if (opened === undefined) return false;
    const text = this.#text;
    let slice: Slice = { from: this.#at, to: this.#at, names: 0 };
    let names = 0;
    let member = this.#at;
    let child = -1;
    let depth = 0;
    for (let at = this.#at; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        at = this.#endOfString(at);
        continue;
      }
      if (code === COLON) names += 1;
      else if (isOpening(code)) {
        if (depth === 0) child = at;
        depth += 1;
        if (this.#opened.length + depth > this.#maxDepth) throw new UnreadableSlice();
      } else if (isClosing(code) && depth === 0) {
        this.#take(opened, { ...slice, to: at, names });
        this.#at = at;
        return this.#close();
      } else if (isClosing(code)) depth -= 1;
      else if (code === COMMA && depth === 0) {
        slice = { ...slice, to: at, names };
        member = at + 1;
        if (at - slice.from >= SLICE_CHARACTERS) return this.#takeBefore(opened, slice, member);
      }
      if (depth > 0 && at - member >= SLICE_CHARACTERS) {
        if (member > slice.from) this.#takeBefore(opened, slice, member);
        return this.#descend(opened, member, child);
      }
    }
    throw new UnreadableSlice();
  }

  #skipBlank(): void {
    while (isBlank(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  #endOfString(from: number): number {
    const text = this.#text;
    for (let at = from + 1; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at;
      if (code === BACKSLASH) at += 1;
    }
    throw new UnreadableSlice();
  }

  #open(at: number): Opened['members'] {
    const members = this.#text[at] === '{' ? {} : [];
    this.#opened.push({ members, names: [], isBeforeMember: false });
    this.#at = at + 1;
    return members;
  }

  /** A slice that a comma ends. */
  #takeBefore(opened: Opened, slice: Slice, next: number): true {
    this.#take(opened, slice);
    opened.isBeforeMember = true;
    this.#at = next;
    return true;
  }

  #take(opened: Opened, { from, to, names }: Slice): void {
    const { members } = opened;
    const inner = this.#text.slice(from, to);
    const isList = Array.isArray(members);
    const text = isList ? `[${inner}]` : `{${inner}}`;
    const value = parseJsonText(text);
    if (typeof value !== 'object' || value === null) throw new UnreadableSlice();
    const first = isList ? members.length : 0;
    const found = Array.isArray(value) ? value.length : Object.keys(value).length;
    if (found === 0 && (opened.isBeforeMember || this.#text.charCodeAt(to) === COMMA))
      throw new UnreadableSlice();
    const known = isList ? undefined : members;
    const isTwice = (name: string): boolean => known !== undefined && Object.hasOwn(known, name);
    if (sizeOf(value) < names || (known !== undefined && Object.keys(value).some(isTwice))) {
      const most = MAX_DUPLICATES - this.errors.length;
      const place = { path: this.#path, first, isTwice };
      if (most > 0) this.errors.push(...findDuplicates(text, most, this.#maxDepth, place));
    }
    if (isList) for (const item of Object.values(value)) members.push(item);
    else {
      for (const [name, member] of Object.entries(value)) {
        if (!isTwice(name)) opened.names.push(name);
        setMember(members, name, member);
      }
    }
  }

  /** A member that is too long for one slice. */
  #descend({ members, names }: Opened, member: number, child: number): true {
    const before = this.#text.slice(member, child);
    if (Array.isArray(members)) {
      if (before.trim() !== '') throw new UnreadableSlice();
      this.#path.push(members.length);
      members.push(this.#open(child));
      return true;
    }
    const named = parseJsonText(`{${before}0}`);
    const [name, ...more] = typeof named === 'object' && named !== null ? Object.keys(named) : [];
    if (name === undefined || more.length > 0) throw new UnreadableSlice();
    this.#path.push(name);
    if (!Object.hasOwn(members, name)) names.push(name);
    else if (this.errors.length < MAX_DUPLICATES) this.errors.push(duplicateKey(this.#path));
    setMember(members, name, this.#open(child));
    return true;
  }

  /** Ends what the next character closes, and all that ends right after it. @returns whether there is more */
  #close(): boolean {
    for (;;) {
      const ended = this.#opened.pop();
      if (ended === undefined) throw new UnreadableSlice();
      if ((this.#text[this.#at] === ']') !== Array.isArray(ended.members)) throw new UnreadableSlice();
      this.names.learn(ended.members, ended.names);
      this.#path.pop();
      this.#at += 1;
      this.#skipBlank();
      const opened = this.#opened.at(-1);
      if (opened === undefined) {
        if (this.#at < this.#text.length) throw new UnreadableSlice();
        return false;
      }
      const code = this.#text.charCodeAt(this.#at);
      if (code === COMMA) {
        opened.isBeforeMember = true;
        this.#at += 1;
        return true;
      }
      if (!isClosing(code)) throw new UnreadableSlice();
    }
  }
}

/** The work of `parseJsonInTurns`, which yields after every slice.
 *  @throws TextSyntaxError with line and column */
export function* readJsonSlices(
  bytes: Buffer,
  limits: Partial<TextLimits> = {},
): Generator<undefined, JsonValue, undefined> {
  const { maxBytes, maxDepth } = { ...DEFAULT_TEXT_LIMITS, ...limits };
  if (bytes.length > maxBytes) return parseJsonBytes(bytes, limits);
  try {
    const reader = new SliceReader(bytes.toString('utf8'), maxDepth);
    while (reader.step()) yield undefined;
    return { value: reader.value, errors: reader.errors, names: reader.names };
  } catch (thrown) {
    if (!(thrown instanceof UnreadableSlice || thrown instanceof SyntaxError)) throw thrown;
  }
  yield undefined;
  return parseJsonBytes(bytes, limits);
}

/** Reads bytes that are one JSON value, as `parseJsonBytes` does, and waits for `turn` after every few milliseconds.
 *  @throws TextSyntaxError with line and column */
export async function parseJsonInTurns(
  bytes: Buffer,
  turn: () => Promise<void>,
  limits: Partial<TextLimits> = {},
): Promise<JsonValue> {
  const slices = readJsonSlices(bytes, limits);
  for (;;) {
    const { done, value } = slices.next();
    if (done === true) return value;
    await turn();
  }
}

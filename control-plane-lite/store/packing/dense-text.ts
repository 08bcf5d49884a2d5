/** JSON texts in a dense form: long strings with escapes stand in it without them, and long base64 as the bytes that it
 *  stands for. It is meant for compression, which finds no order in what such strings encode.
 *
 *  JSON text has no control characters. So one that stands in the dense form begins a string that was replaced: the
 *  character is followed by the length as a varint, and the bytes. */
import { Buffer } from 'node:buffer';

const UNESCAPED = 1;
const BINARY = 2;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
/** Of shorter strings nothing is gained. */
const MIN_BYTES = 32;

/** Returns the dense form; `undefined` if the bytes have control characters: they are no JSON of ours. */
export function toDense(json: Buffer): Buffer | undefined {
  const pieces: Buffer[] = [];
  let copied = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte < FIRST_PRINTABLE) return undefined;
    if (byte !== QUOTE) continue;
    const found = endOfString(json, at + 1);
    if (found === undefined) return undefined;
    const { end, hasEscapes } = found;
    if (end - at >= MIN_BYTES) {
      const replaced = denseString(json.subarray(at, end + 1), hasEscapes);
      if (replaced !== undefined) {
        pieces.push(json.subarray(copied, at), ...replaced);
        copied = end + 1;
      }
    }
    at = end;
  }
  pieces.push(json.subarray(copied));
  return Buffer.concat(pieces);
}

interface StringEnd {
  /** Offset of the closing quote. */
  readonly end: number;
  readonly hasEscapes: boolean;
}

/** @returns `undefined` for a string with control characters */
function endOfString(json: Buffer, start: number): StringEnd | undefined {
  let hasEscapes = false;
  for (let at = start; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) return { end: at, hasEscapes };
    if (byte < FIRST_PRINTABLE) return undefined;
    if (byte !== BACKSLASH) continue;
    hasEscapes = true;
    at += 1;
  }
  return { end: json.length, hasEscapes };
}

/** @param text with its quotes
 *  @returns `undefined` if its form is not the one that `fromDense` would restore */
function denseString(text: Buffer, hasEscapes: boolean): readonly Buffer[] | undefined {
  if (hasEscapes) {
    const value = parsedString(text);
    if (value === undefined || !Buffer.from(JSON.stringify(value)).equals(text)) return undefined;
    return framed(UNESCAPED, Buffer.from(value));
  }
  const base64 = text.toString('latin1', 1, text.length - 1);
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64') === base64 ? framed(BINARY, bytes) : undefined;
}

function parsedString(text: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(text.toString());
    // Text with half of a surrogate pair would not survive.
    return typeof value === 'string' && value.isWellFormed() ? value : undefined;
  } catch {
    return undefined;
  }
}

function framed(form: number, bytes: Buffer): readonly Buffer[] {
  const head = [form];
  let rest = bytes.length;
  for (; rest > 0x7f; rest >>>= 7) head.push((rest & 0x7f) | 0x80);
  head.push(rest);
  return [Buffer.from(head), bytes];
}

/** Returns the text that `toDense` was given. */
export function fromDense(dense: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let copied = 0;
  for (let at = 0; at < dense.length; at += 1) {
    const form = dense[at] ?? 0;
    if (form >= FIRST_PRINTABLE) continue;
    pieces.push(dense.subarray(copied, at));
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      at += 1;
      const byte = dense[at] ?? 0;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    const bytes = dense.subarray(at + 1, at + 1 + length);
    pieces.push(
      Buffer.from(form === BINARY ? `"${bytes.toString('base64')}"` : JSON.stringify(bytes.toString())),
    );
    at += length;
    copied = at + 1;
  }
  pieces.push(dense.subarray(copied));
  return Buffer.concat(pieces);
}

/** Rewrites the links of a proxied HTML page to point through the proxy, as upstream's server does for pages
 *  with root-relative links. Reads the page once, front to back, in chunks of any size; bytes outside of
 *  links pass unchanged. */
import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';

/** Attributes that contain URLs, by element. */
const LINKS: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['formaction', 'src', 'usemap'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  track: ['src'],
  video: ['poster', 'src'],
};
/** Elements whose content is raw text up to their end tag. */
const RAW: ReadonlySet<string> = new Set([
  'script',
  'style',
  'textarea',
  'title',
  'xmp',
  'iframe',
  'noframes',
]);
/** A longer tag is passed on unchanged. */
const LONGEST_TAG = 64 * 1024;

const isSpace = (char: string): boolean =>
  char === ' ' || char === '\n' || char === '\t' || char === '\r' || char === '\f';
const isLetter = (char: string): boolean => (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z');

export interface LinkOptions {
  /** Path of this server that the target's paths are mapped below, without a trailing slash. */
  readonly prefix: string;
  /** `host:port` of the target, and of this server as the client addresses it. */
  readonly hosts: readonly string[];
}

const isBelow = (path: string, prefix: string): boolean =>
  path.startsWith(prefix) && (path.length === prefix.length || '/?#'.includes(path.charAt(prefix.length)));

/** Returns the rewritten link; unchanged if it leads to another host or is relative to the page. */
export function rewriteLink(link: string, { prefix, hosts }: LinkOptions): string {
  const lower = link.slice(0, 8).toLowerCase();
  const start = lower.startsWith('http://')
    ? 7
    : lower.startsWith('https://')
      ? 8
      : lower.startsWith('//')
        ? 2
        : 0;
  if (start === 0) return link.startsWith('/') && !isBelow(link, prefix) ? prefix + link : link;
  let end = start;
  while (end < link.length && !'/?#'.includes(link.charAt(end))) end += 1;
  if (!hosts.includes(link.slice(start, end).toLowerCase())) return link;
  const path = link.charAt(end) === '/' ? link.slice(end) : `/${link.slice(end)}`;
  return isBelow(path, prefix) ? link : prefix + path;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Yields the attribute values of a tag, from behind the element's name to before its `>`. */
function* attributesOf(
  tag: string,
  from: number,
): Generator<{ readonly name: string; readonly value: Span }> {
  let at = from;
  const end = tag.length;
  while (at < end) {
    while (at < end && (isSpace(tag.charAt(at)) || tag.charAt(at) === '/')) at += 1;
    const nameStart = at;
    while (at < end && !isSpace(tag.charAt(at)) && !'=/>'.includes(tag.charAt(at))) at += 1;
    const name = tag.slice(nameStart, at).toLowerCase();
    while (at < end && isSpace(tag.charAt(at))) at += 1;
    if (tag.charAt(at) !== '=') {
      // Any character sequence that is not a name, such as a misplaced quote, is skipped.
      if (at === nameStart) at += 1;
      continue;
    }
    at += 1;
    while (at < end && isSpace(tag.charAt(at))) at += 1;
    const quote = tag.charAt(at);
    if (quote === '"' || quote === "'") {
      const close = tag.indexOf(quote, at + 1);
      const stop = close < 0 ? end : close;
      yield { name, value: { start: at + 1, end: stop } };
      at = stop + 1;
    } else {
      const start = at;
      while (at < end && !isSpace(tag.charAt(at)) && tag.charAt(at) !== '>') at += 1;
      yield { name, value: { start, end: at } };
    }
  }
}

/** Returns a whole start tag with its links rewritten. */
function rewriteTag(tag: string, element: string, options: LinkOptions): string {
  const links = LINKS[element];
  if (links === undefined) return tag;
  let out = '';
  let taken = 0;
  for (const { name, value } of attributesOf(tag, element.length + 1)) {
    if (!links.includes(name)) continue;
    out += tag.slice(taken, value.start) + rewriteLink(tag.slice(value.start, value.end), options);
    taken = value.end;
  }
  return out + tag.slice(taken);
}

/** Returns the index of the tag's end, or -1; a `>` within a quoted value does not count. Resumes where it
 *  stopped when more of the tag arrives. */
class TagEnd {
  #quote = '';
  #at = 0;
  #last = '';

  find(text: string): number {
    for (; this.#at < text.length; this.#at += 1) {
      const char = text.charAt(this.#at);
      if (this.#quote !== '') {
        if (char === this.#quote) this.#quote = '';
      } else if ((char === '"' || char === "'") && this.#last === '=') this.#quote = char;
      else if (char === '>') return this.#at;
      if (!isSpace(char)) this.#last = char;
    }
    return -1;
  }
}

const nameOfTag = (tag: string): string => {
  let end = 1;
  while (end < tag.length && !isSpace(tag.charAt(end)) && !'/>'.includes(tag.charAt(end))) end += 1;
  return tag.slice(1, end).toLowerCase();
};

/** Decodes one character per byte: the page's encoding makes no difference, since its markup is ASCII. */
export class LinkRewriter extends Transform {
  readonly #options: LinkOptions;
  /** Text not passed on yet: an incomplete tag, or an incomplete end of a comment or of raw text. */
  #held = '';
  #tagEnd: TagEnd | undefined;
  /** The end marker of the raw text being passed on: of a comment, or of an element with raw text. */
  #until = '';

  constructor(options: LinkOptions) {
    super();
    this.#options = options;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#held += chunk.toString('latin1');
    done(null, Buffer.from(this.#take(), 'latin1'));
  }

  override _flush(done: TransformCallback): void {
    done(null, Buffer.from(this.#held, 'latin1'));
  }

  #take(): string {
    const out: string[] = [];
    let at = 0;
    for (;;) {
      const next = this.#until === '' ? this.#step(at, out) : this.#skip(at, out);
      if (next < 0) break;
      at = next;
    }
    return out.join('');
  }

  /** Passes raw text on. Returns the index to continue at, or -1 when the input is used up. */
  #skip(at: number, out: string[]): number {
    const text = this.#held;
    const end = findIgnoringCase(text, this.#until, at);
    if (end < 0) {
      const safe = Math.max(at, text.length - this.#until.length + 1);
      out.push(text.slice(at, safe));
      this.#held = text.slice(safe);
      return -1;
    }
    // The end tag is parsed as a tag again.
    const stop = this.#until === '-->' ? end + 3 : end;
    out.push(text.slice(at, stop));
    this.#until = '';
    return stop;
  }

  #step(at: number, out: string[]): number {
    const text = this.#held;
    const open = text.indexOf('<', at);
    if (open < 0) return this.#hold(text.slice(at), '', out);
    out.push(text.slice(at, open));
    const rest = text.length - open;
    if (rest < 4 && '<!--'.startsWith(text.slice(open))) return this.#hold('', text.slice(open), out);
    if (text.startsWith('<!--', open)) {
      out.push('<!--');
      this.#until = '-->';
      return open + 4;
    }
    if (!isLetter(text.charAt(open + 1))) {
      out.push('<');
      return open + 1;
    }
    const tail = text.slice(open);
    this.#tagEnd ??= new TagEnd();
    const end = this.#tagEnd.find(tail);
    if (end < 0 && tail.length <= LONGEST_TAG) return this.#hold('', tail, out, true);
    this.#tagEnd = undefined;
    if (end < 0) return this.#hold(tail, '', out);
    const tag = tail.slice(0, end + 1);
    const element = nameOfTag(tag);
    out.push(rewriteTag(tag, element, this.#options));
    if (RAW.has(element)) this.#until = `</${element}`;
    // Texts are truncated seldom: a slice of a long string retains all of it.
    this.#held = tail.slice(end + 1);
    return 0;
  }

  #hold(passed: string, held: string, out: string[], isTag = false): number {
    out.push(passed);
    this.#held = held;
    if (!isTag) this.#tagEnd = undefined;
    return -1;
  }
}

/** ASCII only. */
function findIgnoringCase(text: string, wanted: string, from: number): number {
  const first = wanted.charAt(0);
  for (let at = text.indexOf(first, from); at >= 0; at = text.indexOf(first, at + 1)) {
    if (text.slice(at, at + wanted.length).toLowerCase() === wanted) return at;
  }
  return -1;
}

/** Returns the transformation of a response body on its way to the client: none, unless it is a page in a
 *  known content coding. */
export function linkRewriting(
  { headers }: Pick<IncomingMessage, 'headers'>,
  options: LinkOptions | undefined,
): readonly Transform[] {
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (options === undefined || type !== 'text/html') return [];
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return [new LinkRewriter(options)];
  return encoding === 'gzip' ? [createGunzip(), new LinkRewriter(options), createGzip()] : [];
}
